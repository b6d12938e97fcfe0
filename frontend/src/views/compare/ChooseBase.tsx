import { useState, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData, Runs } from "../../api/schema";
import { averagedSteps } from "../../report/measures";
import { COMPARE } from "./address";
import { suggestionGroups, suggestions, type SuggestionGroup } from "./sides";
import { counted } from "../../text/formats";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";

interface ChooseBaseProps {
  listed: Runs;
  whole: ReportData;
  target: Target;
  /** What the address names and is not there; null where it names none. */
  missing: string | null;
}

/** Nothing to compare with is chosen yet: likely ones, each a click away. */
export function ChooseBase({ listed, whole, target, missing }: ChooseBaseProps): ReactElement {
  const counted = averagedSteps(whole.steps);
  // Before all others those that count: the first step warms up.
  const steps = (counted.length > 1 ? counted : whole.steps).map(({ name }) => name);
  const groups = suggestionGroups(suggestions(listed, target, steps));
  return (
    <div className="state wide">
      <h1>Compare with what?</h1>
      {missing !== null && (
        <p role="alert">
          There is no <bdi className="code">{missing}</bdi> to compare with any more.
        </p>
      )}
      <p>
        <bdi className="code">{target.run}</bdi> · <bdi className="code">{target.worker}</bdi> is
        the side <strong>after</strong>: choose the one <strong>before</strong>.
      </p>
      {groups.length === 0 ? (
        <p className="muted">
          There is one step of one trace here. Record another after a change, and both can be held
          against each other.
        </p>
      ) : (
        groups.map((group) => <Choices key={group.kind} group={group} />)
      )}
    </div>
  );
}

function Choices({ group }: { group: SuggestionGroup }): ReactElement {
  const [open, setOpen] = useState(false);
  const { kind, all, first } = group;
  const hidden = all.length - first.length;
  return (
    <ul className="base-choices">
      {(open ? all : first).map(({ base, steps, name }) => (
        <li key={`${base.run} ${base.worker ?? ""} ${base.trace ?? ""}`}>
          <PlaceLink to={{ compare: { ...COMPARE.start, base, steps } }} className="base-choice">
            <span className="muted">{kind}</span>
            <Name text={name} className="code" />
          </PlaceLink>
        </li>
      ))}
      {!open && hidden > 0 && (
        <li>
          <button type="button" className="link" onClick={() => setOpen(true)}>
            and {counted(hidden, `more ${kind}`)}
          </button>
        </li>
      )}
    </ul>
  );
}
