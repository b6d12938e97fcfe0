import type { ReactElement } from "react";

import { clip } from "../text/formats";
import { shortKernelName } from "../text/kernelName";

const MOST_SHOWN = 300;
const MOST_IN_TOOLTIP = 1000;

interface NameProps {
  text: string;
  className?: string;
  /** Part to mark, as found by a search. */
  mark?: string;
  /** Whether kernels are to be named in short; the tooltip has the whole name. */
  kernel?: boolean | undefined;
}

/** A name out of a trace: always text, its writing direction isolated, its length bounded. */
export function Name({ text, className, mark = "", kernel = false }: NameProps): ReactElement {
  const said = kernel ? text.split("\n").map(shortKernelName).join(" → ") : text;
  const shown = said.length > MOST_SHOWN ? `${said.slice(0, MOST_SHOWN)}…` : said;
  return (
    <bdi className={`name ${className ?? ""}`} title={clip(text, MOST_IN_TOOLTIP)}>
      {marked(shown, mark)}
    </bdi>
  );
}

function marked(text: string, mark: string): ReactElement | string {
  const wanted = mark.trim().toLowerCase();
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted);
  if (at < 0) return text;
  const end = at + wanted.length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}
