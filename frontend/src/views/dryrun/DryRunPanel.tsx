import { type ReactElement, useRef } from "react";

import type { DryRunReport } from "../../api/schema";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { CopyButton } from "../../components/controls";
import { usePlace } from "../../parts/services";
import { bytes, count, figure } from "../../text/formats";
import { pathText } from "../../text/names";
import { type DryPlace, lineText, sentence } from "./places";

/** One place: what the host would wait for, how it came there, and the fix. */
export function DryRunPanel({ run, place }: { run: DryRunReport; place: DryPlace }): ReactElement {
  const [, go] = usePlace();
  const { sync, perStep, steps } = place;
  const close = (): void => go({ sync: null });
  return (
    <SidePanel label="Sync" className="sync-panel row-panel" onClose={close}>
      <PanelHeader onClose={close}>
        <Name text={sync.title} className="wrap" />
      </PanelHeader>
      <p className="muted">
        <bdi className="code">{sync.cause}</bdi>
      </p>
      <p>
        {sync.certain ? "The host would wait: " : "The host may wait, as the driver decides: "}
        <bdi>{sentence(sync)}</bdi>.
      </p>
      <p className="muted">
        {figure(perStep)} per step, in {steps.length === 1 ? "step" : "steps"} {steps.join(", ")} of{" "}
        {count(run.steps)}
        {sync.nbytes !== null && `; ${bytes(sync.nbytes)} each time`}
      </p>
      {sync.allowed !== null && (
        <p className="muted">
          Allowed: <bdi>{sync.allowed}</bdi>
        </p>
      )}
      <Where place={place} />
      <section className="fix" aria-label="Fix">
        <p>{sync.fix}</p>
      </section>
    </SidePanel>
  );
}

function Where({ place: { sync } }: { place: DryPlace }): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  const lines = [
    `${lineText(sync)}: ${sync.code}`,
    ...(sync.via === null ? [] : [`in ${sync.via}`]),
    ...(sync.forward_line === null
      ? []
      : [`backward of ${sync.forward_line}: ${sync.forward_code ?? ""}`]),
    ...(sync.module === null
      ? []
      : [`module ${pathText(sync.module)} (${sync.module_class ?? ""})`]),
    ...(sync.node === null ? [] : [`node ${sync.node}`]),
    ...sync.stack,
  ];
  const text = lines.join("\n");
  return (
    <section aria-label="Chain">
      <header>
        <h3>Where</h3>
        <CopyButton text={text} source={source} />
      </header>
      <pre ref={source} className="chain" tabIndex={0}>
        {lines.map((line, index) => (
          <span key={index}>
            <bdi>{line}</bdi>
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}
