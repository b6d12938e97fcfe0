import {
  useEffect,
  useEffectEvent,
  useState,
  type CSSProperties,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
} from "react";

import { readStored, store } from "./browser";

interface SidePanelProps {
  label: string;
  className: string;
  onClose: () => void;
  children: ReactNode;
}

const WIDTH = "panelWidth";
const [LEAST_PX, MOST_PX, STEP_PX] = [240, 900, 24];

/** What is selected, at the right: as wide as the reader pulls it, closed with Escape. */
export function SidePanel({ label, className, onClose, children }: SidePanelProps): ReactElement {
  const [width, setWidth] = useState(() => panelWidth(Number(readStored(WIDTH))));
  const close = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented && !isTypedInto(event.target)) onClose();
  });
  useEffect(() => {
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, []);
  const resize = (wanted: number): void => {
    const fitting = panelWidth(wanted);
    setWidth(fitting);
    if (fitting !== null) store(WIDTH, `${fitting}`);
  };
  return (
    <aside
      className={`panel ${className}`}
      aria-label={label}
      tabIndex={-1}
      style={
        width === null
          ? undefined
          : ({ flexBasis: width, "--panel-width": `${width}px` } as CSSProperties)
      }
    >
      <Handle onResize={resize} />
      {children}
    </aside>
  );
}

/** What a panel is about, and the way out of it. */
export function PanelHeader({
  onClose,
  children,
}: Pick<SidePanelProps, "onClose" | "children">): ReactElement {
  return (
    <header>
      <h2>{children}</h2>
      <button type="button" className="quiet" onClick={onClose}>
        Close
      </button>
    </header>
  );
}

/** Pulled, or moved with the arrows; the panel grows to the left. */
function Handle({ onResize }: { onResize: (width: number) => void }): ReactElement {
  const [now, setNow] = useState(0);
  const follow = (event: PointerEvent<HTMLDivElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    onResize(edge(event.currentTarget) - event.clientX);
  };
  return (
    <div
      className="panel-handle"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the panel"
      aria-valuenow={now}
      aria-valuemin={LEAST_PX}
      aria-valuemax={MOST_PX}
      tabIndex={0}
      onFocus={(event) => setNow(Math.round(widthOf(event.currentTarget)))}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove={follow}
      onKeyDown={(event) => {
        const by = { ArrowLeft: STEP_PX, ArrowRight: -STEP_PX }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        const wanted = widthOf(event.currentTarget) + by;
        onResize(wanted);
        setNow(panelWidth(wanted) ?? 0);
      }}
    />
  );
}

const widthOf = (handle: Element): number =>
  handle.parentElement?.getBoundingClientRect().width ?? 0;
const edge = (handle: Element): number => handle.parentElement?.getBoundingClientRect().right ?? 0;

/** A width within bounds; null where none was chosen. */
export function panelWidth(wanted: number): number | null {
  if (!Number.isFinite(wanted) || wanted <= 0) return null;
  return Math.round(Math.min(Math.max(wanted, LEAST_PX), MOST_PX));
}

function isTypedInto(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest("input, select, textarea, dialog, [popover]") !== null
  );
}
