import { type ReactElement, useId, useState } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { clip } from "../../text/formats";
import { kindText, pathText } from "../../text/names";
import { MOST_FACTOR, type WhatIfPlace } from "./address";
import { WHATIF_DEFINITIONS as D, SCALE_DEFINITIONS } from "./definitions";
import {
  added,
  choices,
  factorOf,
  NAMED,
  type Named,
  nothingOf,
  PLAIN,
  scaled,
  SYNCS,
  unscaled,
  useChangeQuestion,
  useFactor,
} from "./question";

interface FactorsProps {
  report: ReportData;
  place: WhatIfPlace;
}

/** What takes another time, by a factor each. */
export function Factors({ report, place }: FactorsProps): ReactElement {
  return (
    <section className="facet whatif-factors" aria-label="Factors">
      <header>
        <h2>
          Scale durations{" "}
          <span className="muted">
            by a <Term text={D.factor.text}>{D.factor.title}</Term>
          </span>
        </h2>
      </header>
      <ul className="whatif-list">
        {PLAIN.map((what) => {
          const factor = factorOf(place, what);
          const { title, text } = SCALE_DEFINITIONS[what];
          return (
            <FactorRow
              key={what}
              what={what}
              label={title}
              factor={factor}
              nothing={factor === 1 ? nothingOf(report, what) : null}
            >
              <Term text={text}>{title}</Term>
            </FactorRow>
          );
        })}
        <SyncsRow report={report} place={place} />
        {added(place).map(({ what, factor }) => (
          <FactorRow key={what} what={what} label={addedText(what)} factor={factor} nothing={null}>
            <Name text={addedText(what)} className="code" />
          </FactorRow>
        ))}
      </ul>
      <AddFactor report={report} place={place} />
    </section>
  );
}

function addedText(what: string): string {
  const [named = "", name = ""] = splitOnce(what);
  return `${named} ${named === "kind" ? kindText(name) : named === "module" ? pathText(name) : name}`;
}

function splitOnce(what: string): string[] {
  const colon = what.indexOf(":");
  return colon < 0 ? [what] : [what.slice(0, colon), what.slice(colon + 1)];
}

interface FactorRowProps {
  what: string;
  label: string;
  factor: number;
  /** Why it cannot be scaled; null where it can. */
  nothing: string | null;
  children: ReactElement;
}

/** Above this the slider stays at its end; the number next to it goes on. */
const MOST_SLID = 2;
const STEP = 0.05;

function FactorRow({ what, label, factor, nothing, children }: FactorRowProps): ReactElement {
  const change = useChangeQuestion();
  const [text, onText] = useFactor(factor, (wanted) =>
    change((place) => scaled(place, what, wanted), true),
  );
  const reset = what.includes(":") ? "Remove" : "Reset";
  return (
    <li className="whatif-factor">
      <span className="whatif-label">{children}</span>
      {nothing !== null ? (
        <span className="muted whatif-nothing">{nothing}</span>
      ) : (
        <>
          <input
            type="range"
            aria-label={`${clip(label, 100)}, factor`}
            min={0}
            max={MOST_SLID}
            step={STEP}
            value={Math.min(Number(text), MOST_SLID)}
            onChange={(event) => onText(event.target.value)}
          />
          <input
            type="number"
            aria-label={`${clip(label, 100)}, factor as a number`}
            min={0}
            max={MOST_FACTOR}
            step={STEP}
            value={text}
            onChange={(event) => onText(event.target.value)}
          />
          <button
            type="button"
            className="quiet"
            disabled={reset === "Reset" && factor === 1}
            aria-label={`${reset} ${clip(label, 100)}`}
            onClick={() => change((place) => unscaled(place, what))}
          >
            {reset}
          </button>
        </>
      )}
    </li>
  );
}

function SyncsRow({ report, place }: FactorsProps): ReactElement {
  const change = useChangeQuestion();
  const free = factorOf(place, SYNCS) === 0;
  const nothing = free ? null : nothingOf(report, SYNCS);
  const id = useId();
  const { title, text } = SCALE_DEFINITIONS.syncs;
  return (
    <li className="whatif-factor">
      <span className="whatif-label">
        <Term text={text}>{title}</Term>
      </span>
      {nothing !== null ? (
        <span className="muted whatif-nothing">{nothing}</span>
      ) : (
        <span className="whatif-switch">
          <input
            id={id}
            type="checkbox"
            aria-label={title}
            checked={free}
            onChange={() => change((now) => scaled(now, SYNCS, free ? 1 : 0))}
          />
          <label htmlFor={id} className="muted">
            assumes that none is needed
          </label>
        </span>
      )}
    </li>
  );
}

const NAMED_TITLES: Readonly<Record<Named, string>> = {
  kind: "kind of kernel",
  module: "module",
  kernel: "kernel",
};

interface AddFactorProps {
  report: ReportData;
  place: WhatIfPlace;
}

/** What something added begins with: half of its time, so that it shows at once. */
const FIRST_FACTOR = 0.5;

/** A factor for something by its name. */
function AddFactor({ report, place }: AddFactorProps): ReactElement {
  const change = useChangeQuestion();
  const [named, setNamed] = useState<Named>("kind");
  const [name, setName] = useState<string | null>(null);
  const taken = new Set(place.scale.map(({ what }) => what));
  const options = choices(report, named).filter((choice) => !taken.has(`${named}:${choice.name}`));
  const chosen = options.find((choice) => choice.name === name) ?? options[0];
  return (
    <div className="whatif-add">
      <select
        aria-label="What to add"
        value={named}
        onChange={(event) => {
          setNamed(NAMED.find((one) => one === event.target.value) ?? "kind");
          setName(null);
        }}
      >
        {NAMED.map((one) => (
          <option key={one} value={one}>
            {NAMED_TITLES[one]}
          </option>
        ))}
      </select>
      <select
        aria-label={`Which ${NAMED_TITLES[named]}`}
        disabled={chosen === undefined}
        value={chosen?.name ?? ""}
        onChange={(event) => setName(event.target.value)}
      >
        {chosen === undefined && <option value="">none here</option>}
        {options.map((choice) => (
          <option key={choice.name} value={choice.name}>
            {clip(choice.text, 110)}
          </option>
        ))}
      </select>
      <button
        type="button"
        disabled={chosen === undefined}
        onClick={() => {
          if (chosen === undefined) return;
          change((now) => scaled(now, `${named}:${chosen.name}`, FIRST_FACTOR));
          setName(null);
        }}
      >
        Add
      </button>
    </div>
  );
}
