import { useRef, type ReactElement } from "react";

import type { WireEvent } from "../../api/timeline";
import { chainLines } from "./event";
import { clip } from "../../text/formats";
import { CopyButton } from "../../components/CopyButton";
import { usePlace } from "../../parts/context";

/** What led to an event, as indented text that can be copied; its events can be selected. */
export function Chain({ event }: { event: WireEvent }): ReactElement {
  const [, go] = usePlace();
  const source = useRef<HTMLPreElement>(null);
  const lines = chainLines(event);
  return (
    <section aria-label="Chain">
      <header>
        <h3>What led to it</h3>
        <CopyButton
          text={lines.map(({ indent, text }) => indent + text).join("\n")}
          source={source}
        />
      </header>
      <pre ref={source} className="chain" tabIndex={0}>
        {lines.map(({ indent, kind, text, id }, index) => (
          <span key={index} className={`link-${kind}`}>
            {indent}
            {id === null ? (
              <bdi>{clip(text, 300)}</bdi>
            ) : (
              <button
                type="button"
                className="link"
                onClick={() => {
                  go({ event: String(id), range: null });
                }}
              >
                <bdi>{clip(text, 300)}</bdi>
              </button>
            )}
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}
