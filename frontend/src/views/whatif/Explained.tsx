import type { ReactElement } from "react";

import { Facts } from "../../components/SmallTable";
import { PATH_DEFINITIONS } from "../../report/criticalPath";
import { SCALE_DEFINITIONS, SLACK_DEFINITIONS, WHATIF_DEFINITIONS } from "./definitions";

/** What a replay cannot answer, and why. */
const NOT_OFFERED = [
  [
    "Batch size, precision, another device",
    "How long kernels take then is in no trace. A factor that you know can be given to them.",
  ],
  [
    "Another number of ranks",
    "Collectives are those of this rank; waiting for the others is inside them.",
  ],
  [
    "Kernels that slow one another",
    "Durations stay as recorded, whatever runs side by side; so do those of a loader's workers.",
  ],
  [
    "Values that are needed",
    "Taking out a sync assumes that it is not needed; whether its value is needed is in no trace.",
  ],
  ["The cost of recording", "It slows the host, stacks and shapes most; it is in all times here."],
] as const;

/** What the answers mean, for who asks. */
export function Explained(): ReactElement {
  const words = [
    PATH_DEFINITIONS,
    SLACK_DEFINITIONS,
    SCALE_DEFINITIONS,
    WHATIF_DEFINITIONS,
  ].flatMap((group) => Object.values(group));
  return (
    <footer className="whatif-explained">
      <details>
        <summary>What is not offered, and why</summary>
        <Facts className="whatif-words" of={NOT_OFFERED} />
      </details>
      <details>
        <summary>What the words mean</summary>
        <Facts className="whatif-words" of={words.map(({ title, text }) => [title, text])} />
      </details>
    </footer>
  );
}
