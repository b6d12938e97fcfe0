import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type FocusEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
} from "react";
import { createPortal } from "react-dom";

import { useWords } from "./words";

/** The pointer rests this long before a tooltip opens, and has this long to reach it. */
const REST_MS = 350;
const REACH_MS = 120;
const GAP = 6;

interface Trigger {
  "aria-describedby"?: string;
  onMouseEnter?: (event: MouseEvent<HTMLElement>) => void;
  onMouseLeave?: () => void;
  onFocus?: (event: FocusEvent<HTMLElement>) => void;
  onBlur?: () => void;
}

interface Tip {
  /** For the element that is explained, which the keyboard must reach. */
  trigger: Trigger;
  tip: ReactNode;
  toggle: (anchor: HTMLElement) => void;
  close: () => void;
}

/**
 * What explains a control: read out with it, and shown to whoever rests the pointer on it or
 * reaches it by the keyboard. Escape closes it.
 */
export function useTip(text: string | undefined): Tip {
  const id = useId();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const timer = useRef<number | undefined>(undefined);
  const after = useCallback((ms: number, next: HTMLElement | null) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(setAnchor, ms, next);
  }, []);
  const set = useCallback((next: HTMLElement | null) => {
    window.clearTimeout(timer.current);
    setAnchor(next);
  }, []);
  const close = useCallback(() => set(null), [set]);
  useEffect(() => close, [close]);
  useClosing(anchor !== null, close);
  const toggle = (at: HTMLElement): void => set(anchor === null ? at : null);
  if (text === undefined || text === "") return { trigger: {}, tip: null, toggle, close };
  const trigger: Trigger = {
    "aria-describedby": id,
    onMouseEnter: (event) => after(REST_MS, event.currentTarget),
    onMouseLeave: () => after(REACH_MS, null),
    onFocus: (event) => {
      // A click focuses too: who clicks wants the control, not its meaning.
      if (event.currentTarget.matches(":focus-visible")) set(event.currentTarget);
    },
    onBlur: close,
  };
  const bubble = (
    <Bubble
      id={id}
      anchor={anchor}
      onEnter={() => window.clearTimeout(timer.current)}
      onLeave={close}
    >
      {text}
    </Bubble>
  );
  // Within the landmark of what it explains, and over a dialog that is open.
  const home = anchor?.closest(HOMES) ?? document.body;
  return { trigger, tip: createPortal(bubble, home), toggle, close };
}

const HOMES = "main, aside, nav, [popover], .topbar";

/** A word that explains itself. */
export function Term({ text, children }: { text: string; children: ReactNode }): ReactElement {
  const words = useWords();
  const { trigger, tip, toggle } = useTip(words(text));
  return (
    <>
      <button
        type="button"
        className="term"
        {...trigger}
        onClick={(event) => toggle(event.currentTarget)}
      >
        {typeof children === "string" ? words(children) : children}
      </button>
      {tip}
    </>
  );
}

/** Escape closes what is open and nothing else; what scrolls away takes it along. */
function useClosing(open: boolean, close: () => void): void {
  useEffect(() => {
    if (!open) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    };
    document.addEventListener("keydown", onKey, true);
    document.addEventListener("scroll", close, true);
    return () => {
      document.removeEventListener("keydown", onKey, true);
      document.removeEventListener("scroll", close, true);
    };
  }, [open, close]);
}

interface BubbleProps {
  id: string;
  /** null: hidden, and still there for who listens. */
  anchor: HTMLElement | null;
  onEnter: () => void;
  onLeave: () => void;
  children: string;
}

function Bubble({ id, anchor, onEnter, onLeave, children }: BubbleProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (anchor !== null && box.current !== null) placeBy(box.current, anchor);
  }, [anchor]);
  return (
    <div
      ref={box}
      id={id}
      role="tooltip"
      className="tip"
      hidden={anchor === null}
      onMouseEnter={onEnter}
      onMouseLeave={onLeave}
    >
      {children}
    </div>
  );
}

/** Below the element, or above where the window ends; never beyond an edge. */
function placeBy(box: HTMLElement, anchor: HTMLElement): void {
  const near = anchor.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - width - GAP;
  const below = near.bottom + GAP;
  const fits = below + height <= document.documentElement.clientHeight;
  box.style.left = `${Math.max(GAP, Math.min(near.left, right))}px`;
  box.style.top = `${fits ? below : Math.max(GAP, near.top - GAP - height)}px`;
}
