import type { ReactElement } from "react";

import { findingPlace, withoutFinding } from "../address/links";
import type { Finding } from "../api/schema";
import { priceText, type PriceBasis } from "../report/findings";
import { Name } from "../components/Name";
import { PlaceLink } from "./PlaceLink";

interface FixProps {
  finding: Finding;
  /** For its price and a link to it; null where the finding itself is what is looked at. */
  basis: PriceBasis | null;
}

/** What to do about it, what that would save, and where that is known from. */
export function Fix({ finding, basis }: FixProps): ReactElement {
  return (
    <section className="fix" aria-label="Fix">
      {basis !== null && (
        <h3>
          <Name text={finding.title} className="wrap" />
        </h3>
      )}
      <p>{finding.fix}</p>
      {basis !== null && <p className="price">{priceText(finding, basis)}</p>}
      <p className="muted">Reference: {finding.reference}</p>
      {finding.caveats.length > 0 && (
        <ul className="caveats muted">
          {finding.caveats.map((caveat) => (
            <li key={caveat}>{caveat}</li>
          ))}
        </ul>
      )}
      {basis !== null && (
        <p className="links">
          <PlaceLink to={findingPlace(finding.id)}>Evidence in Findings</PlaceLink>
          {finding.gain_us_per_step !== null && (
            <PlaceLink to={withoutFinding(finding.id)}>What if it were fixed</PlaceLink>
          )}
        </p>
      )}
    </section>
  );
}
