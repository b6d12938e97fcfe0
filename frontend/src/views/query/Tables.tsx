import type { ReactElement } from "react";

import type { SqlTables } from "../../api/schema";
import { withoutBackticks } from "../../text/definitions";

/** What there is to ask: tables, and the columns of each. */
export function Tables({ tables }: Pick<SqlTables, "tables">): ReactElement {
  return (
    <section aria-label="Tables" className="query-tables">
      <h2>Tables</h2>
      {tables.map(({ name, description, columns }) => (
        <details key={name}>
          <summary>
            <code>{name}</code> <span className="muted">{withoutBackticks(description)}</span>
          </summary>
          <dl>
            {columns.map((column) => (
              <div key={column.name}>
                <dt>
                  <code>{column.name}</code>{" "}
                  <span className="muted">
                    {column.type}
                    {column.unit === null ? "" : `, ${column.unit}`}
                  </span>
                </dt>
                <dd>{withoutBackticks(column.description)}</dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </section>
  );
}
