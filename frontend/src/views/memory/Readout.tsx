import type { ReactElement } from "react";

import type { MemoryCurve, MemoryPeak } from "../../api/schema";
import { Term } from "../../components/Tip";
import { bytes } from "../../text/formats";
import { colourOf, MEMORY_COLOURS } from "../../theme/colours";
import { MEMORY_CLASSES } from "./curve";
import { CLASS_DEFINITIONS } from "./definitions";

interface ReadoutProps {
  curve: MemoryCurve;
  index: number | null;
  peak: MemoryPeak | null;
}

/** The classes with their bytes: where the pointer is, else at the peak. */
export function Readout({ curve, index, peak }: ReadoutProps): ReactElement {
  const keys = MEMORY_CLASSES.filter(
    (key) => curve.classes[key] !== undefined || peak?.classes?.[key] !== undefined,
  );
  return (
    <ul className="legend memory-legend">
      <li className="muted">{index === null ? "at the peak" : "at the pointer"}</li>
      {keys.map((key) => (
        <li key={key}>
          <span className="swatch" style={{ background: colourOf(MEMORY_COLOURS[key]) }} />
          <Term text={CLASS_DEFINITIONS[key].text}>{CLASS_DEFINITIONS[key].title}</Term>
          <strong>
            {bytes(index === null ? (peak?.classes?.[key] ?? 0) : curve.classes[key]?.[index])}
          </strong>
        </li>
      ))}
      {curve.reserved_bytes !== null && (
        <li>
          <span className="swatch memory-reserved-swatch" />
          reserved
          <strong>
            {bytes(index === null ? peak?.reserved_bytes : curve.reserved_bytes[index])}
          </strong>
        </li>
      )}
    </ul>
  );
}
