import type { ReactElement } from "react";

import { withoutFinding } from "../address/links";
import type { WireFinding } from "../api/types";
import { priceText } from "../report/findings";
import { Name } from "../components/Name";
import { PlaceLink } from "./PlaceLink";

interface FixProps {
  finding: WireFinding;
  /** Mean length of the steps that count, for shares; null where it is unknown. */
  stepUs?: number | null;
  /** Without the link to the finding, which is what is looked at. */
  alone?: boolean;
}

/** What to do about it, what that would save, and where that is known from. */
export function Fix({ finding, stepUs = null, alone = false }: FixProps): ReactElement {
  return (
    <section className="fix" aria-label="Fix">
      {!alone && (
        <h3>
          <Name text={finding.title} className="wrap" />
        </h3>
      )}
      <p>{finding.fix}</p>
      {!alone && <p className="price">{priceText(finding, stepUs)}</p>}
      <p className="muted">Reference: {finding.reference}</p>
      {finding.caveats.length > 0 && (
        <ul className="caveats muted">
          {finding.caveats.map((caveat) => (
            <li key={caveat}>{caveat}</li>
          ))}
        </ul>
      )}
      {!alone && (
        <p className="links">
          <PlaceLink to={{ view: "findings", finding: finding.id, search: "", sort: null }}>
            Evidence in Findings
          </PlaceLink>
          <PlaceLink to={withoutFinding(finding.id)}>What if it were gone</PlaceLink>
        </p>
      )}
    </section>
  );
}
