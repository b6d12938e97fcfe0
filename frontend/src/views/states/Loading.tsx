import type { ReactElement } from "react";

import type { Target } from "../../api/client";
import { stageText } from "../../model/stages";
import { useProgress } from "../state/useProgress";

interface LoadingProps {
  target: Target;
  /** Name of the file that is being read. */
  file: string;
}

/** A trace is being read: which one, what is being done, how far. */
export function Loading({ target, file }: LoadingProps): ReactElement {
  const progress = useProgress(target);
  const done = progress?.done ?? null;
  return (
    <div className="state" role="status">
      <h1>Reading the trace</h1>
      <p className="code file">
        <bdi>{file}</bdi>
      </p>
      <progress aria-label="Progress" max={1} {...(done === null ? {} : { value: done })} />
      <p className="muted">
        {stageText(progress?.stage ?? null)}
        {done === null ? "" : ` · ${Math.round(done * 100)}%`}
      </p>
    </div>
  );
}
