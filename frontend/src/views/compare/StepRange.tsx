import type { ReactElement } from "react";

import { clip } from "../../text/formats";
import { stepRange } from "./sides";
import { stepLabel } from "../../report/steps";

interface StepRangeProps {
  label: string;
  /** Names of all steps of the trace. */
  all: readonly string[];
  /** Those chosen; none for all. */
  chosen: readonly string[];
  onChange: (steps: readonly string[]) => void;
}

/** A range of steps, from one to another. */
export function StepRange({ label, all, chosen, onChange }: StepRangeProps): ReactElement | null {
  if (all.length < 2) return null;
  const first = chosen[0] === undefined ? 0 : Math.max(0, all.indexOf(chosen[0]));
  const end = chosen.at(-1);
  const last = end === undefined ? all.length - 1 : Math.max(first, all.indexOf(end));
  const ends = [
    { says: "first", at: first, range: (to: number) => stepRange(all, to, Math.max(to, last)) },
    { says: "last", at: last, range: (to: number) => stepRange(all, Math.min(first, to), to) },
  ];
  return (
    <span className="picker whole step-range">
      <span className="picker-label">steps</span>
      {ends.map(({ says, at, range }) => (
        <select
          key={says}
          aria-label={`${label}, ${says} step`}
          value={at}
          onChange={(event) => {
            onChange(range(Number(event.target.value)));
          }}
        >
          {all.map((name, index) => (
            <option key={name} value={index}>
              {clip(stepLabel(name), 60)}
            </option>
          ))}
        </select>
      ))}
    </span>
  );
}
