import { type ReactElement, useState } from "react";

import type { Choice } from "../address/chooseTrace";
import { START } from "../address/place";
import type { Runs } from "../api/schema";
import { usePlace } from "../parts/services";
import { RecordSnippet, Snippet } from "../parts/states";
import { count, counted } from "../text/formats";

interface EmptyProps {
  listed: Runs;
  onRetry: () => void;
}

/** No trace anywhere: what to do, exactly. */
export function Empty({ listed, onRetry }: EmptyProps): ReactElement {
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
          <Snippet text="tensorboard --logdir runs" />
        </li>
      </ol>
      <button type="button" className="primary" onClick={onRetry}>
        Look again
      </button>
    </div>
  );
}

/** Names shown at first. */
const FIRST = 20;

/** The address names a run, worker or trace that is not there: offer those that are. */
export function Missing({ choice }: { choice: Extract<Choice, { found: false }> }): ReactElement {
  const [place, go] = usePlace();
  const [open, setOpen] = useState(false);
  const shown = open ? choice.existing : choice.existing.slice(0, FIRST);
  const hidden = choice.existing.length - shown.length;
  const choose = (name: string): void => {
    if (choice.missing === "run") go({ ...START, view: place.view, run: name });
    else if (choice.missing === "worker") go({ worker: name, trace: null, step: null });
    else go({ trace: name, step: null });
  };
  return (
    <div className="state" role="alert">
      <h1>
        There is no {choice.missing} <bdi className="code">{choice.name}</bdi>
      </h1>
      <p>It may have been moved or deleted. Available:</p>
      <ul className="choices">
        {shown.map((name) => (
          <li key={name}>
            <button type="button" onClick={() => choose(name)}>
              <bdi>{name}</bdi>
            </button>
          </li>
        ))}
        {hidden > 0 && (
          <li>
            <button type="button" className="link" onClick={() => setOpen(true)}>
              and {count(hidden)} more
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}

/** Says that the list of runs is not whole, where it is not. */
export function LeftOut({ listed }: { listed: Runs }): ReactElement | null {
  const text = leftOut(listed);
  return text === null ? null : <span className="muted">{text}</span>;
}

/** What of the log directory is not in the list; null where all of it is. */
export function leftOut({ left_out: { links, folders } }: Runs): string | null {
  const parts = [
    ...(links > 0 ? [`${counted(links, "link")} out of the log directory`] : []),
    ...(folders > 0 ? [`${counted(folders, "folder")} that cannot be read`] : []),
  ];
  return parts.length > 0 ? `Not listed: ${parts.join(", ")}.` : null;
}
