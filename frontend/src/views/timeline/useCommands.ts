import { useEffect, useEffectEvent, type RefObject } from "react";

import { commandOf, type Command } from "./keys";
import { panBy, zoomAt } from "./data/viewport";
import type { Chart } from "./chart/chart";
import type { Actions } from "./useActions";

/** Keys of the whole view; what is typed into fields, or steers another part, is left alone. */
export function useCommands(
  chart: Chart | null,
  scroller: RefObject<HTMLElement | null>,
  actions: Actions,
  onSearch: () => void,
): void {
  const obey = useEffectEvent((event: KeyboardEvent) => {
    const command = commandOf(event);
    if (chart === null || command === null || event.defaultPrevented) return;
    if (!isOurs(event, scroller.current)) return;
    event.preventDefault();
    if (command.do === "search") onSearch();
    else carryOut(command, chart, scroller.current, actions);
  });
  useEffect(() => {
    document.addEventListener("keydown", obey);
    return () => {
      document.removeEventListener("keydown", obey);
    };
  }, []);
}

/** Letters are ours wherever nothing is typed; keys that scroll only upon the chart. */
function isOurs(event: KeyboardEvent, scroller: HTMLElement | null): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement) || target === document.body) return true;
  if (target.closest("input, select, textarea, dialog, [popover]") !== null) return false;
  return event.key.length === 1 || event.key === "Escape" || (scroller?.contains(target) ?? false);
}

function carryOut(
  command: Exclude<Command, { do: "search" }>,
  chart: Chart,
  scroller: HTMLElement | null,
  actions: Actions,
): void {
  const { shown, bounds } = chart;
  switch (command.do) {
    case "zoom":
      chart.show(zoomAt(shown, command.factor, chart.pointedTime, bounds), true);
      return;
    case "pan":
      chart.show(panBy(shown, command.share, bounds), true);
      return;
    case "scroll":
      scroller?.scrollBy({ top: command.pixels });
      return;
    case "select":
      actions.select(command.direction);
      return;
    case "fit":
      actions.fit();
      return;
    case "whole":
      actions.whole();
      return;
    case "mark":
      actions.mark();
      return;
    case "clear":
      actions.clear();
      return;
    case "nextHit":
      actions.hit(1);
      return;
    case "previousHit":
      actions.hit(-1);
      return;
  }
}
