import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { textOf, type TableRow } from "../../parts/serverTable/rows";

/** Names of peaks as people write them: `float64_tensor` is float64 on tensor cores. */
export function peakText(text: string): string {
  return text.replaceAll("_tensor", " on tensor cores");
}

/** Where the roofs of the first device are from, and whether another source has them too. */
export function PeakSource({ peaks }: { peaks: readonly TableRow[] }): ReactElement | null {
  const [peak] = peaks;
  if (peak === undefined) return null;
  const confirmed = textOf(peak, "confirmed");
  return (
    <p className="muted">
      Peaks of {textOf(peak, "name")}: <Name text={textOf(peak, "source")} className="wrap" />.{" "}
      {confirmed === "" ? (
        "Unverified: no second source was found."
      ) : (
        <>
          Confirmed: <Name text={peakText(confirmed)} className="wrap" />; the other figures are
          unverified.
        </>
      )}
    </p>
  );
}
