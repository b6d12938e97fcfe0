import type { ReactElement, ReactNode } from "react";

import { Term } from "./Tip";

/** Title of a column; `text` is what it means, `span` how many columns it stands over. */
export type Heading = string | { title: string; text?: string | undefined; span?: number };

/** The headings of a small table, and what follows them in their row. */
export function Heads({
  of,
  children,
}: {
  of: readonly Heading[];
  children?: ReactNode;
}): ReactElement {
  return (
    <thead>
      <tr>
        {of.map((heading, at) => {
          const { title, text, span } =
            typeof heading === "string" ? { title: heading } : { span: undefined, ...heading };
          return (
            <th key={at} scope="col" colSpan={span}>
              {text === undefined ? title : <Term text={text}>{title}</Term>}
            </th>
          );
        })}
        {children}
      </tr>
    </thead>
  );
}
