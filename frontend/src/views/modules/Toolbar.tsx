import { type ReactElement, useMemo } from "react";

import { MOST_TEXT } from "../../api/client";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Segments } from "../../components/controls";
import { PlaceSearch } from "../../parts/PlaceLink";
import { useLoad, usePlace, useServices } from "../../parts/services";
import type { Measure } from "../../report/measures";
import { count } from "../../text/formats";
import { type Grouping, GROUPINGS, QUANTITIES } from "./address";
import { timeDefinitions } from "./definitions";
import { type ChosenQuantity, clocksOf, holds } from "./quantity";

interface ToolbarProps {
  /** Number of modules found, null without a search. */
  hits: number | null;
  kernels: Pick<KernelSearch, "state" | "omitted">;
  levels: number;
  onLevels: (levels: number) => void;
}

/** Search, and how far the tree is unfolded. */
export function Toolbar(props: ToolbarProps): ReactElement {
  const { levels, onLevels } = props;
  return (
    <div className="toolbar">
      <PlaceSearch label="Search module, class or kernel" found={foundText(props)} />
      <div className="group" role="group" aria-label="Fold">
        <button type="button" onClick={() => onLevels(levels)}>
          Expand all
        </button>
        <button type="button" onClick={() => onLevels(1)}>
          Collapse all
        </button>
        <LevelSelect levels={levels} onLevels={onLevels} />
      </div>
    </div>
  );
}

/** How many modules were found, and how many more the answer about kernels leaves out. */
export function foundText({
  hits,
  kernels,
}: Pick<ToolbarProps, "hits" | "kernels">): string | null {
  if (hits === null) return null;
  const { state, omitted } = kernels;
  const notes = { none: "", searching: ", looking at kernels…", done: "", failed: " by name only" };
  const more = omitted > 0 ? `, ${count(omitted)} more not shown` : "";
  return `${count(hits)} found${notes[state]}${more}`;
}

function LevelSelect({
  levels,
  onLevels,
}: Pick<ToolbarProps, "levels" | "onLevels">): ReactElement {
  return (
    <select
      aria-label="Show levels"
      value=""
      onChange={(event) => onLevels(Number(event.target.value))}
    >
      <option value="" disabled hidden>
        To level…
      </option>
      {Array.from({ length: levels }, (_, index) => (
        <option key={index} value={index + 1}>
          to level {index + 1}
        </option>
      ))}
    </select>
  );
}

/** The typing is waited for this long, so that not every letter is a question. */
const WAIT_MS = 150;

/** Modules that launched kernels whose names hold the text. */
export interface KernelSearch {
  paths: ReadonlySet<string>;
  /** Modules found that `paths` leaves out. */
  omitted: number;
  state: "none" | "searching" | "done" | "failed";
}

const NONE: ReadonlySet<string> = new Set();

/** Ask which modules launched kernels of such a name; nothing is asked where no text is given. */
export function useKernelSearch(target: Target, text: string): KernelSearch {
  const { api } = useServices();
  const wanted = text.trim();
  const asks = wanted !== "" && wanted.length <= MOST_TEXT;
  const load = useMemo(
    () =>
      asks
        ? async (signal: AbortSignal) => {
            await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
            signal.throwIfAborted();
            return api.module.search(target, wanted, signal);
          }
        : null,
    [api, target, wanted, asks],
  );
  const answer = useLoad(load);
  const found = answer.status === "ready" ? answer.value : null;
  const paths = useMemo(() => (found === null ? NONE : new Set(found.paths)), [found]);
  if (!asks) return { paths: NONE, omitted: 0, state: "none" };
  const state = { loading: "searching", ready: "done", error: "failed" } as const;
  return { paths, omitted: found?.omitted ?? 0, state: state[answer.status] };
}

const GROUP_TITLES: Readonly<Record<Grouping, string>> = {
  instance: "One row for each module, below the module that holds it.",
  class: "One row for each class of modules, its instances below.",
  depth: "One row for each level of the tree, with its modules as children.",
};

const CLOCKS: Readonly<Record<Measure, string>> = {
  device: "Time of the device's work.",
  host: "Time of the host's work.",
};

/** What is shown: which part of the work, whose time, in which groups, next to what. */
export function QuantityPicker({
  report,
  chosen,
}: {
  report: ReportData;
  chosen: ChosenQuantity;
}): ReactElement {
  const [place, go] = usePlace();
  const clocks = clocksOf(report, chosen.quantity);
  return (
    <div className="quantities">
      <Segments
        label="Measure"
        toned
        segments={QUANTITIES.map((value) => ({
          value,
          title: value,
          tooltip: holds(report, value)
            ? timeDefinitions({
                ...chosen,
                quantity: value,
                clock: clocksOf(report, value)[0] ?? "host",
              }).total.text
            : `This trace holds no ${value} of modules.`,
          disabled: !holds(report, value) && value !== chosen.quantity,
        }))}
        chosen={chosen.quantity}
        onChoose={(quantity) => go({ quantity })}
      />
      <Segments
        label="Time of"
        segments={(["device", "host"] as const).map((value) => ({
          value,
          title: value,
          tooltip: CLOCKS[value],
          disabled: !clocks.includes(value),
        }))}
        chosen={chosen.clock}
        onChoose={(clock) => go({ clock })}
      />
      <Segments
        label="Group by"
        segments={GROUPINGS.map((value) => ({ value, title: value, tooltip: GROUP_TITLES[value] }))}
        chosen={place.group}
        onChoose={(group) => go({ group, zoom: null, picked: null })}
      />
      {chosen.quantity !== "forward" && (
        <label className="check" title="Each row's forward, drawn to the same scale.">
          <input
            type="checkbox"
            checked={place.withForward}
            onChange={(event) => go({ withForward: event.target.checked }, true)}
          />
          show forward
        </label>
      )}
    </div>
  );
}
