import type { ReactElement } from "react";

interface ChangeBarProps {
  change: number | null;
  /** The largest change of the table. */
  most: number;
  /** More of it is where someone should look. */
  look: boolean;
}

/** Less time to the left of the middle, more of it to the right; the number beside says the same. */
export function ChangeBar({ change, most, look }: ChangeBarProps): ReactElement {
  const size = most > 0 ? Math.abs(change ?? 0) / most : 0;
  const worse = (change ?? 0) > 0;
  return (
    <svg className="change-bar" width="100%" height={10} aria-hidden="true">
      <rect
        className={worse ? (look ? "more look" : "more") : "less"}
        x={`${worse ? 50 : 50 - size * 50}%`}
        width={`${size * 50}%`}
        height={10}
      />
      <line x1="50%" x2="50%" y1={0} y2={10} />
    </svg>
  );
}
