import type { ReactElement } from "react";

import type { WireModule, WireModuleDetail, WireReport } from "../../../api/types";
import { compiledRemedy } from "../../../report/compiled";
import { evidenceParts } from "../../../report/headline";
import { duration } from "../../../text/formats";

interface ModuleEvidenceProps {
  report: WireReport;
  module: WireModule;
  /** null: not here yet. */
  detail: WireModuleDetail | null;
  by: number;
}

/** What names the module of its own time; why there is none inside compiled code. */
export function ModuleEvidence(props: ModuleEvidenceProps): ReactElement | null {
  const { report, module, detail, by } = props;
  const forward = detail === null ? [] : evidenceParts(detail.forward_by_evidence);
  const backward = detail === null ? [] : evidenceParts(detail.backward_by_evidence);
  const unknown = module.compiled && module.forward.host_us === null;
  const remedy = unknown ? compiledRemedy(report) : null;
  if (forward.length === 0 && backward.length === 0 && !unknown) return null;
  return (
    <section aria-label="Evidence">
      {unknown && (
        <p>
          Compiled: its times are in those of the module around the compiled region. {remedy ?? ""}
        </p>
      )}
      <Parts title="Forward of its own in compiled code, by" parts={forward} by={by} />
      <Parts title="Backward of its own, by" parts={backward} by={by} />
    </section>
  );
}

interface PartsProps {
  title: string;
  parts: ReturnType<typeof evidenceParts>;
  by: number;
}

function Parts({ title, parts, by }: PartsProps): ReactElement | null {
  if (parts.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <dl className="facts">
        {parts.map(([name, us]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{duration(us / by)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
