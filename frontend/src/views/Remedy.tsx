import type { ReactElement } from "react";

import type { WireFinding } from "../api/types";
import { duration } from "../model/formats";
import { Name } from "./Name";

/** What to do about it, and what that would save. */
export function Remedy({ finding }: { finding: WireFinding }): ReactElement {
  return (
    <section className="remedy" aria-label="Remedy">
      <h3>
        <Name text={finding.title} className="wrap" />
      </h3>
      <p>{finding.fix}</p>
      <p className="muted">
        costs {duration(finding.cost_us_per_step)} of idle device a step
        {finding.gain_us_per_step !== null && `, saves up to ${duration(finding.gain_us_per_step)}`}
      </p>
    </section>
  );
}
