import type { ReactElement, ReactNode } from "react";

import type { Place } from "../address/place";
import { useServices } from "./context";
import { useTip } from "../components/Tip";

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
