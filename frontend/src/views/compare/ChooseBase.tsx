import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport, WireRuns } from "../../api/types";
import { suggestions } from "../../model/compare/sides";
import { NO_COMPARE } from "../../model/compare/place";
import { Name } from "../Name";
import { PlaceLink } from "../PlaceLink";

interface ChooseBaseProps {
  listed: WireRuns;
  whole: WireReport;
  target: Target;
  /** What the address names and is not there; null where it names none. */
  missing: string | null;
}

/** Nothing to compare with is chosen yet: likely ones, each a click away. */
export function ChooseBase({ listed, whole, target, missing }: ChooseBaseProps): ReactElement {
  const likely = suggestions(
    listed,
    target,
    whole.steps.map(({ name }) => name),
  );
  return (
    <div className="state wide">
      <h1>Compare with what?</h1>
      {missing !== null && (
        <p role="alert">
          There is no <bdi className="code">{missing}</bdi> to compare with any more.
        </p>
      )}
      <p>
        <bdi className="code">{target.run}</bdi> is the side <strong>after</strong>: choose the one{" "}
        <strong>before</strong>.
      </p>
      {likely.length === 0 ? (
        <p className="muted">
          There is one step of one trace here. Record another after a change, and both can be held
          against each other.
        </p>
      ) : (
        <ul className="base-choices">
          {likely.map(({ base, steps, kind, name }) => (
            <li key={`${kind} ${name}`}>
              <PlaceLink to={{ compare: { ...NO_COMPARE, base, steps } }} className="base-choice">
                <span className="muted">{kind}</span>
                <Name text={name} className="code" />
              </PlaceLink>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
