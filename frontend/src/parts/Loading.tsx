import type { ReactElement } from "react";

import type { Target } from "../api/client";
import type { WireTrace } from "../api/types";
import { progressText } from "./stages";
import { useProgress } from "./useProgress";

interface LoadingProps {
  target: Target;
  /** The file that is being read. */
  trace: WireTrace;
  onStop: () => void;
}

/** A trace is being read: which one, what is being done, how far. */
export function Loading({ target, trace, onStop }: LoadingProps): ReactElement {
  const progress = useProgress(target);
  const done = progress?.done ?? null;
  return (
    <div className="state" role="status">
      <h1>Reading the trace</h1>
      <p className="code file">
        <bdi>{trace.file}</bdi>
      </p>
      <progress aria-label="Progress" max={1} {...(done === null ? {} : { value: done })} />
      <p className="muted progress-text">
        {progressText(progress, trace.bytes)}
        {done === null ? "" : ` · ${Math.round(done * 100)}%`}
      </p>
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </div>
  );
}
