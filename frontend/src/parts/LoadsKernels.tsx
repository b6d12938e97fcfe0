import type { ReactElement } from "react";

import { duration } from "../text/formats";

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
