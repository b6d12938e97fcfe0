import type { ReactElement } from "react";

import type { WireRule } from "../../api/rules";

interface RuleRemedyProps {
  cause: string;
  rules: readonly WireRule[] | null;
}

/** What a rule advises where no finding holds the waits: in the first of several steps, say. */
export function RuleRemedy({ cause, rules }: RuleRemedyProps): ReactElement | null {
  const rule = rules?.find(({ id }) => id === cause);
  if (rule === undefined) return null;
  return (
    <section className="remedy" aria-label="Remedy">
      <p>{rule.fix}</p>
      <p className="muted">No price: no finding holds these waits.</p>
      <p className="muted">Reference: {rule.reference}</p>
    </section>
  );
}
