import type { ReactElement } from "react";

import type { Module, Parameters } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { type Fact, Facts } from "../../../components/SmallTable";
import { Term } from "../../../components/Tip";
import { bytes, count, counted } from "../../../text/formats";
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
