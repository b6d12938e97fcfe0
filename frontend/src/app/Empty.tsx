import { useRef, type ReactElement } from "react";

import type { WireRuns } from "../api/types";
import { CopyButton } from "../components/CopyButton";
import { LeftOut } from "./LeftOut";
import { RecordSnippet } from "../parts/RecordSnippet";

interface EmptyProps {
  listed: WireRuns;
  onRetry: () => void;
}

/** No trace anywhere: what to do, exactly. */
export function Empty({ listed, onRetry }: EmptyProps): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  const command = `tensorboard --logdir runs`;
  return (
    <div className="state wide">
      <h1>No traces yet</h1>
      <p>
        There is no <code>.pt.trace.json</code> or <code>.pt.trace.json.gz</code> file below{" "}
        <bdi className="code">{listed.logdir}</bdi>. <LeftOut listed={listed} />
      </p>
      <ol className="steps-to-do">
        <li>
          <p>Record a few training steps with three lines:</p>
          <RecordSnippet />
        </li>
        <li>
          <p>
            Look at them here, or without TensorBoard by <code>hookview serve runs</code>:
          </p>
          <div className="snippet">
            <pre ref={source}>{command}</pre>
            <CopyButton text={command} source={source} />
          </div>
        </li>
      </ol>
      <button type="button" className="primary" onClick={onRetry}>
        Look again
      </button>
    </div>
  );
}
