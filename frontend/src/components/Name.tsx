import type { ReactElement } from "react";

import { clip, duration } from "../text/formats";
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

/** Marks a module whose host times hold the first use of kernels; microseconds of it. */
export function LoadsKernels({ us }: { us: number | null }): ReactElement | null {
  if (us === null || us <= 0) return null;
  const title = `${duration(us)} of its host time went into loading kernels on their first use`;
  return (
    <span className="muted" title={title}>
      loads kernels
    </span>
  );
}
