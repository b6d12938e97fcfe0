import type { ReactElement } from "react";

import type { CompiledLump, Module, ModuleDetail, ReportData } from "../../../api/schema";
import { Facts } from "../../../components/SmallTable";
import { COMPILED_REMEDY, compiledRemedy } from "../../../report/compiled";
import { evidenceParts } from "../../../report/headline";
import { counted, duration } from "../../../text/formats";

interface ModuleEvidenceProps {
  report: ReportData;
  module: Module;
  /** null: not here yet. */
  detail: ModuleDetail | null;
  by: number;
}

/** What names the module of its self time; why there is none inside compiled code. */
export function ModuleEvidence(props: ModuleEvidenceProps): ReactElement | null {
  const { report, module, detail, by } = props;
  const forward = detail === null ? [] : evidenceParts(detail.forward_by_evidence);
  const backward = detail === null ? [] : evidenceParts(detail.backward_by_evidence);
  const collectives = (module.backward.communication_us ?? 0) > 0;
  const unknown = module.compiled && module.forward.host_us === null;
  const remedy = unknown ? compiledRemedy(report) : null;
  const { compiled_lump: lump } = module;
  const parts = forward.length > 0 || backward.length > 0;
  if (!parts && !unknown && lump === null) return null;
  return (
    <section aria-label="Evidence">
      {unknown && (
        <p>
          Compiled: its times are in those of the module around the compiled region. {remedy ?? ""}
        </p>
      )}
      {lump !== null && (
        <p>
          Compiled: {counted(lump.calls / by, "call")} of compiled code, {lumpTimes(lump, by)}, not
          broken down by modules. {COMPILED_REMEDY}
        </p>
      )}
      <Parts title="Self forward time in compiled code, by evidence" parts={forward} by={by} />
      <Parts
        title={`Self backward time${collectives ? " and collectives" : ""}, by evidence`}
        parts={backward}
        by={by}
      />
    </section>
  );
}

function lumpTimes({ host_us: host, device_us: device }: CompiledLump, by: number): string {
  const onHost = `${duration(host / by)} of host time`;
  return device === null ? onHost : `${duration(device / by)} of device time, ${onHost}`;
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
      <Facts className="facts evidence" of={parts.map(([name, us]) => [name, duration(us / by)])} />
    </>
  );
}
