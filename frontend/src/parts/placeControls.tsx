import type { ReactElement } from "react";

import type { Place } from "../address/place";
import { FilterSelect, SearchBox } from "../components/controls";
import { usePlace } from "./services";

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
