import type { ReactElement } from "react";

import type { Module, Parameters } from "../../../api/schema";
import { Name } from "../../../components/Name";
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
          <dl className="facts">
            <div>
              <dt>including children</dt>
              <dd>
                {count(parameters.count)} · {bytes(parameters.bytes)}
              </dd>
            </div>
            <div>
              <dt>self</dt>
              <dd>
                {count(parameters.self_count)} · {bytes(parameters.self_bytes)}
                {parameters.self_count > 0 && !parameters.trainable && " · frozen"}
              </dd>
            </div>
            {parameters.shared.map((shared) => (
              <div key={shared.parameter}>
                <dt>
                  <Name text={shared.parameter} className="code" />
                </dt>
                <dd>
                  shared with&nbsp;
                  <Name
                    text={`${pathText(shared.owner)} ${shared.owner_parameter}`}
                    className="code"
                  />
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
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
