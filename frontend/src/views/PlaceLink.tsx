import type { ReactElement, ReactNode } from "react";

import type { Place } from "../model/place";
import { useServices } from "./state/context";

interface PlaceLinkProps {
  to: Partial<Place>;
  className?: string;
  title?: string;
  children: ReactNode;
}

/** A link to another place of the page: it can be copied, and opened in a tab of its own. */
export function PlaceLink({ to, className, title, children }: PlaceLinkProps): ReactElement {
  const { places } = useServices();
  return (
    <a
      href={places.href(to)}
      className={className ?? "link"}
      title={title}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        places.go(to);
      }}
    >
      {children}
    </a>
  );
}
