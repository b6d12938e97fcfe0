import type { ReactElement } from "react";

import type {
  CompiledLump,
  Module,
  ModuleDetail,
  Parameters,
  ReportData,
} from "../../../api/schema";
import { Name } from "../../../components/Name";
import { type Fact, Facts } from "../../../components/SmallTable";
import { Term } from "../../../components/Tip";
import { COMPILED_REMEDY, compiledRemedy } from "../../../report/compiled";
import { isUnseen } from "../../../report/measures";
import { evidenceParts } from "../../../report/headline";
import { bytes, count, counted, duration } from "../../../text/formats";
import { pathText } from "../../../text/names";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";

interface ModuleFactsProps {
  module: Module;
  /** null: not in the trace, or not here yet. */
  parameters: Parameters | null;
}

/** What the module is given, and what it holds. */
export function ModuleFacts({ module, parameters }: ModuleFactsProps): ReactElement {
  return (
    <section aria-label="Shapes and parameters">
      {module.shapes.length > 0 && (
        <>
          <h3>
            <Term text={D.shapes.text}>Input shapes</Term>
          </h3>
          <ul className="amounts">
            {module.shapes.map((shape, index) => (
              <li key={index}>
                <Name text={shapeText(shape.dims)} className="code" />
                <span className="muted">{counted(shape.calls, "call")}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {parameters !== null && (
        <>
          <h3>
            <Term text={D.parameters.text}>Parameters</Term>
          </h3>
          <Facts of={parameterFacts(parameters)} />
        </>
      )}
    </section>
  );
}

function parameterFacts(parameters: Parameters): Fact[] {
  const { count: all, bytes: size, self_count, self_bytes, trainable, shared } = parameters;
  const frozen = self_count > 0 && !trainable ? " · frozen" : "";
  return [
    ["including children", `${count(all)} · ${bytes(size)}`],
    ["self", `${count(self_count)} · ${bytes(self_bytes)}${frozen}`],
    ...shared.map(({ parameter, owner, owner_parameter: name }): Fact => [
      <Name key={parameter} text={parameter} className="code" />,
      <>
        shared with&nbsp;
        <Name text={`${pathText(owner)} ${name}`} className="code" />
      </>,
    ]),
  ];
}

/** "[8×16] [4]" of `[[8, 16], [], [4]]`: what is no tensor is left out. */
export function shapeText(dims: readonly unknown[]): string {
  const shapes = dims.filter((dim): dim is unknown[] => Array.isArray(dim) && dim.length > 0);
  return shapes.length === 0 ? "no tensor" : shapes.map(oneShape).join(" ");
}

function oneShape(dims: readonly unknown[]): string {
  // A list of tensors has a shape for each of them.
  return dims.some((dim) => Array.isArray(dim))
    ? `(${shapeText(dims)})`
    : `[${dims.map((dim) => String(dim)).join("×")}]`;
}

interface ModuleEvidenceProps {
  report: ReportData;
  module: Module;
  /** null: not here yet. */
  detail: ModuleDetail | null;
  by: number;
}

/** What names the module of its self time; why that is unknown. */
export function ModuleEvidence(props: ModuleEvidenceProps): ReactElement | null {
  const { report, module, detail, by } = props;
  const forward = detail === null ? [] : evidenceParts(detail.forward_by_evidence);
  const backward = detail === null ? [] : evidenceParts(detail.backward_by_evidence);
  const collectives = (module.backward.communication_us ?? 0) > 0;
  const remedy = module.compiled ? compiledRemedy(report) : null;
  const { compiled_lump: lump } = module;
  const parts = forward.length > 0 || backward.length > 0;
  if (!parts && !isUnseen(module) && lump === null) return null;
  return (
    <section aria-label="Evidence">
      {isUnseen(module) && (
        <p>
          Unknown: {module.unseen}. {remedy ?? ""}
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
