import type { MouseEvent, ReactElement, ReactNode } from "react";

import type { Place } from "../address/place";
import { useTip } from "../components/Tip";
import { FilterSelect, SearchBox } from "../components/controls";
import type { Definition } from "../text/definitions";
import { colourOf, type Palette } from "../theme/colours";
import { usePlace, useServices } from "./services";

/** What makes an element lead to a place: in this page, or as the browser does with a key held. */
export function usePlaceLinks(): (to: Partial<Place>) => {
  href: string;
  onClick: (event: MouseEvent) => void;
} {
  const { places } = useServices();
  return (to) => ({
    href: places.href(to),
    onClick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      places.go(to);
    },
  });
}

interface PlaceLinkProps {
  to: Partial<Place>;
  className?: string;
  /** What explains it. */
  title?: string;
  children: ReactNode;
}

/** A link to another place of the page: it can be copied, and opened in a tab of its own. */
export function PlaceLink({ to, className, title, children }: PlaceLinkProps): ReactElement {
  const linkTo = usePlaceLinks();
  const { trigger, tip } = useTip(title);
  return (
    <>
      <a {...linkTo(to)} className={className ?? "link"} {...trigger}>
        {children}
      </a>
      {tip}
    </>
  );
}

interface LegendEntry {
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

interface PlaceFilterProps {
  /** What of the place it chooses. */
  of: "phase" | "cause" | "step" | "severity" | "confidence" | "rule" | "about";
  label?: string;
  options: [value: string, n: number][];
  text?: (value: string) => string;
  /** What else of the place changes with it. */
  also?: Partial<Place>;
}

/** One value of what rows are filtered by, or any; the address holds it. */
export function PlaceFilter({ of, label = of, also, ...rest }: PlaceFilterProps): ReactElement {
  const [place, go] = usePlace();
  return (
    <FilterSelect
      label={label}
      value={place[of]}
      onChange={(value) => go({ [of]: value, ...also })}
      {...rest}
    />
  );
}

/** The search that the address holds. */
export function PlaceSearch(props: { label: string; found: string | null }): ReactElement {
  const [{ search }, go] = usePlace();
  return <SearchBox {...props} text={search} onText={(text) => go({ search: text }, true)} />;
}
