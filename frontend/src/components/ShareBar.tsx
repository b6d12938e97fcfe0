import type { ReactElement } from "react";

/** A share of a whole as a bar behind a number; the number says the same. */
export function ShareBar({ share }: { share: number | null }): ReactElement {
  const width = `${Math.min(1, Math.max(0, share ?? 0)) * 100}%`;
  return (
    <svg className="part-bar" width="100%" height={6} aria-hidden="true">
      <rect width="100%" height={6} className="part-track" />
      <rect width={width} height={6} className="part-filled" />
    </svg>
  );
}
