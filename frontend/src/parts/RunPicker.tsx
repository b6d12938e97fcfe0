import {
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";

import type { KnownTrace, ListedRun, Runs } from "../api/schema";
import { Name } from "../components/Name";
import { count, counted, duration } from "../text/formats";
import { useLoad, useServices } from "./services";

/** Rows drawn at a time: further ones are a matter of the search. */
const MOST = 100;

interface RunPickerProps {
  listed: Runs;
  value: string;
  onChange: (run: string) => void;
}

/** The run that is shown; opens a list to search, with what is known of each. */
export function RunPicker({ listed, value, onChange }: RunPickerProps): ReactElement {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) === true) return;
      setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div ref={box} className="run-picker">
      <button
        ref={button}
        type="button"
        className="picker"
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-label={`run ${value}`}
        title={value}
        onClick={() => setOpen(!open)}
      >
        <span className="picker-label">run</span>
        <Name text={value} />
        <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <RunList
          runs={listed.runs}
          value={value}
          onClose={close}
          onChoose={(run) => {
            close();
            if (run !== value) onChange(run);
          }}
        />
      )}
    </div>
  );
}

interface RunListProps {
  runs: readonly ListedRun[];
  value: string;
  onClose: () => void;
  onChoose: (run: string) => void;
}

function RunList({ runs, value, onClose, onChoose }: RunListProps): ReactElement {
  const { api } = useServices();
  const [search, setSearch] = useState("");
  const [moved, setMoved] = useState<number | null>(null);
  const id = useId();
  const known = useLoad(api.known);
  const all = useMemo(
    (): RunChoice[] => runChoices(runs, known.value ?? NONE_KNOWN, search),
    [runs, known.value, search],
  );
  const shown = all.slice(0, MOST);
  const start = Math.max(
    0,
    shown.findIndex(({ name }) => name === value),
  );
  const cursor = Math.min(moved ?? (search === "" ? start : 0), shown.length - 1);
  const onKey = (event: KeyboardEvent): void => {
    const to = { ArrowDown: cursor + 1, ArrowUp: cursor - 1 }[event.key];
    const chosen = shown[cursor];
    if (to !== undefined) setMoved(Math.max(0, Math.min(shown.length - 1, to)));
    else if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && chosen !== undefined) onChoose(chosen.name);
    else return;
    event.preventDefault();
  };
  return (
    <div className="run-list" role="dialog" aria-label="Choose a run" onKeyDown={onKey}>
      <input
        ref={(input) => input?.focus()}
        type="search"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={shown.length === 0 ? undefined : `${id}${cursor}`}
        aria-label="Search runs"
        placeholder="Search by name, device or bottleneck"
        spellCheck={false}
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
          setMoved(null);
        }}
      />
      <div className="run-row run-heads muted" aria-hidden="true">
        <span>run</span>
        <span className="end">step</span>
        <span>device</span>
        <span>bottleneck</span>
      </div>
      <ul id={id} role="listbox" aria-label="Runs">
        {shown.map((choice, at) => (
          <Row
            key={choice.name}
            id={`${id}${at}`}
            choice={choice}
            selected={choice.name === value}
            atCursor={at === cursor}
            onChoose={onChoose}
          />
        ))}
      </ul>
      <p className="muted" role="status">
        {all.length > MOST
          ? `${count(MOST)} of ${counted(all.length, "run")}: search for the others`
          : `${counted(all.length, "run")}. A dash: not analyzed yet.`}
      </p>
    </div>
  );
}

const NONE_KNOWN: readonly KnownTrace[] = [];

interface RowProps {
  id: string;
  choice: RunChoice;
  selected: boolean;
  atCursor: boolean;
  onChoose: (run: string) => void;
}

function Row({ id, choice, selected, atCursor, onChoose }: RowProps): ReactElement {
  const { name, workers, known } = choice;
  return (
    <li
      ref={(row) => {
        if (atCursor) row?.scrollIntoView({ block: "nearest" });
      }}
      id={id}
      role="option"
      aria-selected={selected}
      className={atCursor ? "run-row at-cursor" : "run-row"}
      title={known?.sentence ?? "Not analyzed yet"}
      onClick={() => onChoose(name)}
    >
      <span className="run-name">
        <Name text={name} className="code" />
        {workers > 1 && <span className="muted">{counted(workers, "worker")}</span>}
      </span>
      <span className="end">{duration(known?.step_us ?? null)}</span>
      <Name text={deviceText(known)} />
      <span>{known?.bound ?? "—"}</span>
    </li>
  );
}

function deviceText(known: KnownTrace | null): string {
  if (known === null) return "—";
  return known.devices.length === 0 ? "CPU only" : known.devices.join(", ");
}

/** A run to choose. */
interface RunChoice {
  readonly name: string;
  readonly workers: number;
  /** Of its first worker that was analyzed before; null: of none. */
  readonly known: KnownTrace | null;
}

/** The runs in which each word of a search is found: in the name, device or verdict. */
export function runChoices(
  runs: readonly ListedRun[],
  known: readonly KnownTrace[],
  search: string,
): RunChoice[] {
  const byRun = new Map<string, KnownTrace>();
  for (const trace of known) if (!byRun.has(trace.run)) byRun.set(trace.run, trace);
  const words = search.toLowerCase().split(/\s+/);
  return runs
    .map(({ name, workers }) => ({
      name,
      workers: workers.length,
      known: byRun.get(name) ?? null,
    }))
    .filter(({ name, known: of }) => {
      const text = [name, ...(of?.devices ?? []), of?.bound, of?.sentence].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
}
