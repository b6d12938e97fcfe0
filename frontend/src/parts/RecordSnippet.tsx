import { useRef, type ReactElement } from "react";

import { CopyButton } from "../components/CopyButton";

const SNIPPET = `import tb_hookview as hookview
model = hookview.wrap(model)
with hookview.profile("runs/first") as prof:  # call prof.step() after each batch`;

/** The three lines that record a run with module names. */
export function RecordSnippet(): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  return (
    <div className="snippet">
      <pre ref={source}>{SNIPPET}</pre>
      <CopyButton text={SNIPPET} source={source} />
    </div>
  );
}
