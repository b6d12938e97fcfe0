import type { ReactElement } from "react";

import type { WireRuns } from "../api/types";
import { leftOut } from "./leftOutText";

/** Says that the list of runs is not whole, where it is not. */
export function LeftOut({ listed }: { listed: WireRuns }): ReactElement | null {
  const text = leftOut(listed);
  return text === null ? null : <span className="muted">{text}</span>;
}
