import type { ReactElement, ReactNode } from "react";

import type { Place } from "../address/place";
import { useTip } from "../components/Tip";
import type { Definition } from "../text/definitions";
import { colourOf, type Palette } from "../theme/colours";
import { useServices } from "./services";

interface PlaceLinkProps {
  to: Partial<Place>;
  className?: string;
  /** What explains it. */
  title?: string;
  children: ReactNode;
}

/** A link to another place of the page: it can be copied, and opened in a tab of its own. */
export function PlaceLink({ to, className, title, children }: PlaceLinkProps): ReactElement {
  const { places } = useServices();
  const { trigger, tip } = useTip(title);
  return (
    <>
      <a
        href={places.href(to)}
        className={className ?? "link"}
        {...trigger}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          places.go(to);
        }}
      >
        {children}
      </a>
      {tip}
    </>
  );
}

export interface LegendEntry {
  key: string;
  definition: Definition;
  colour: keyof Palette;
  /** How much of it there is, and what to say of that. */
  value: string;
  note: string;
  /** Where the number comes from. */
  to: Partial<Place>;
}

/** What the colours of a chart mean, with how much of each there is. */
export function Legend({ entries }: { entries: readonly LegendEntry[] }): ReactElement {
  return (
    <ul className="legend">
      {entries.map(({ key, definition, colour, value, note, to }) => (
        <li key={key}>
          <PlaceLink to={to} className="legend-entry" title={definition.text}>
            <span className="swatch" style={{ background: colourOf(colour) }} />
            {definition.title}
            <strong>{value}</strong>
            {note !== "" && <span className="muted">{note}</span>}
          </PlaceLink>
        </li>
      ))}
    </ul>
  );
}
