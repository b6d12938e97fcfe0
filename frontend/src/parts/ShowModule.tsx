import type { ReactElement } from "react";

import { modulePlace } from "../address/links";
import { PlaceLink } from "./PlaceLink";

/** The way to a module, where there is one. */
export function ShowModule({ module }: { module: string | null }): ReactElement | null {
  if (module === null) return null;
  return (
    <PlaceLink className="button" to={modulePlace(module)}>
      Show module
    </PlaceLink>
  );
}
