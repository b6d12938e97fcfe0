import type { ReactElement } from "react";

import type { WireRule } from "../../api/rules";
import { countRules, ruleFamilies } from "../../report/findings";

interface CheckedProps {
  rules: readonly WireRule[];
  open?: boolean;
}

/** What was looked for, so that finding nothing says something. */
export function Checked({ rules, open = false }: CheckedProps): ReactElement {
  const { visible, unseen } = countRules(rules);
  return (
    <details className="checked" open={open}>
      <summary>
        {visible} rules were looked for; {unseen} more no trace can show
      </summary>
      <div className="families">
        {ruleFamilies(rules).map(([family, members]) => (
          <section key={family} aria-label={family}>
            <h3>{family.replaceAll("-", " ")}</h3>
            <ul>
              {members.map((rule) => (
                <li key={rule.id} title={rule.matches} className={rule.visible ? "" : "muted"}>
                  {rule.title}
                  {!rule.visible && " (not told by a trace)"}
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}
