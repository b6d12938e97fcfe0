import type { CSSProperties, ReactElement } from "react";

import type { Place } from "../address/place";
import { duration, percent, unbroken } from "../text/formats";
import { colourOf, type Palette } from "../theme/colours";
import { PlaceLink } from "./PlaceLink";

/** The length of a step now and with one thing fixed, and where that is looked into. */
export interface BandSaving {
  readonly from: number;
  readonly to: number;
  readonly of: string;
  readonly button: string;
  readonly title: string;
  readonly place: Partial<Place>;
}

/** A saving of less than this share of the step is no news. */
export const WORTH_SAYING = 0.01;

/** A labelled piece of the bar. */
export interface BandBlock {
  readonly key: string;
  readonly label: string;
  readonly text: string;
  readonly us: number;
  /** Of the bar, 0 to 1. */
  readonly share: number;
  readonly colour: keyof Palette;
  readonly place: Partial<Place>;
}

/** What stands above blocks next to each other; nothing where they say it themselves. */
export interface BandHead {
  readonly key: string;
  readonly text: string;
  readonly share: number;
}

interface BandProps {
  sentence: string;
  saving: BandSaving | null;
  /** What the bar is of. */
  barOf: string;
  heads: readonly BandHead[];
  blocks: readonly BandBlock[];
}

/** The verdict: one sentence, what a fix would save, one bar of what the time consists of. */
export function Band({ sentence, saving, barOf, heads, blocks }: BandProps): ReactElement {
  const [decides, ...remedy] = unbroken(sentence).split(/(?<=\.) /);
  return (
    <section className="band" aria-label="Verdict">
      <p className="verdict">{decides}</p>
      {saving !== null && <Saving saving={saving} />}
      <p className="verdict-remedy">{remedy.join(" ")}</p>
      {blocks.length > 0 && (
        <div className="path" role="group" aria-label={`${barOf}: ${blocksText(blocks)}`}>
          <div className="path-heads" aria-hidden="true">
            {heads.map(({ key, text, share }) => (
              <span key={key} className="path-head" style={{ flexGrow: share }}>
                {text !== "" && (
                  <>
                    <span>{text}</span> {heads.length > 1 && <span>{percent(share)}</span>}
                  </>
                )}
              </span>
            ))}
          </div>
          <div className="path-bar">
            {blocks.map((block) => (
              <Block key={block.key} block={block} />
            ))}
          </div>
        </div>
      )}
    </section>
  );
}

function blocksText(blocks: readonly BandBlock[]): string {
  return blocks.map(({ text, share }) => `${text} ${percent(share)}`).join("; ");
}

function Saving({ saving }: { saving: BandSaving }): ReactElement {
  return (
    <div className="saving">
      <p className="saving-steps">
        {duration(saving.from)} → {duration(saving.to)}
      </p>
      <p className="muted">{saving.of}</p>
      <PlaceLink to={saving.place} className="saving-button" title={saving.title}>
        {saving.button}
      </PlaceLink>
    </div>
  );
}

function Block({ block }: { block: BandBlock }): ReactElement {
  const { label, text, us, share, colour, place } = block;
  return (
    <span
      className="path-segment"
      style={{ flexGrow: share, "--part": colourOf(colour) } as CSSProperties}
    >
      <PlaceLink
        to={place}
        className={`path-block ${colour}`}
        title={`${text}: ${duration(us)} (${percent(share)})`}
      >
        <span className="path-text">
          <span className="path-label">{label}</span>
          <span className="path-share">
            <span>{duration(us)}</span> <span>{percent(share)}</span>
          </span>
        </span>
      </PlaceLink>
    </span>
  );
}
