import { useState, type ReactElement } from "react";

import type { Choice } from "../address/chooseTrace";
import { count } from "../text/formats";
import { START } from "../address/place";
import { usePlace } from "../parts/context";

/** So many are named at first. */
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
      <p>It may have been moved or deleted. There is:</p>
      <ul className="choices">
        {shown.map((name) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => {
                choose(name);
              }}
            >
              <bdi>{name}</bdi>
            </button>
          </li>
        ))}
        {hidden > 0 && (
          <li>
            <button
              type="button"
              className="link"
              onClick={() => {
                setOpen(true);
              }}
            >
              and {count(hidden)} more
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}
