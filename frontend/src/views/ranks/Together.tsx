import { type CSSProperties, type ReactElement, useEffect, useRef } from "react";

import type { CollectiveRanks, RunOverview } from "../../api/schema";
import type { RunKey } from "../../parts/run";
import { numberOf, type TableRow, textOf } from "../../parts/serverTable/rows";
import { useAsk, usePlace, useServices } from "../../parts/services";
import { ErrorCard } from "../../parts/states";
import { count, counted } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { Picture, type PictureProps } from "./TogetherPicture";
import { kindText } from "./collectives";
import { useChangeRanks, useRunRow } from "./useRun";

interface TogetherProps {
  runKey: RunKey;
  run: RunOverview;
  /** Id of the collective; null until it is known. */
  id: number | null;
  /** Whether the reader asked for it: then it comes into view. */
  asked: boolean;
  onClose: () => void;
}

/** One collective on its ranks, on one clock: what each ran before it, who came last. */
export function Together({ runKey, run, id, asked, onClose }: TogetherProps): ReactElement {
  const [{ ranks: place }] = usePlace();
  const { api } = useServices();
  const box = useRef<HTMLElement>(null);
  const question: [string, number, number] | null =
    id === null ? null : [runKey.run, id, place.others];
  const loaded = useAsk(api.ranks.collective, question, runKey);
  const row = useRunRow(runKey, "collectives", id);
  const shown = loaded.value;
  const ready = shown !== null && row !== undefined;
  useEffect(() => {
    if (ready && asked) box.current?.scrollIntoView({ block: "nearest" });
  }, [ready, asked, id]);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  return (
    <section
      ref={box}
      className="facet together"
      style={{ "--rows": Math.min(run.ranks.length, MOST_SHOWN) } as CSSProperties}
      aria-label="Collective on all ranks"
      aria-busy={loaded.status === "loading"}
    >
      <div className="toolbar">
        <h2>{row === undefined ? "Collective on all ranks" : <Title run={run} row={row} />}</h2>
        <span className="spring" />
        {id !== null && shown?.refused === null && (
          <a className="button" href={api.ranks.collectiveFile(runKey.run, id)} download>
            Download for Perfetto
          </a>
        )}
        <button type="button" className="quiet" onClick={onClose}>
          Close the picture
        </button>
      </div>
      {id !== null && ready && <Shown runKey={runKey} run={run} id={id} row={row} shown={shown} />}
    </section>
  );
}

function Title({ run, row }: { run: RunOverview; row: TableRow }): ReactElement {
  const step = row.step === null || !run.marked ? null : stepLabel(textOf(row, "step"));
  return (
    <>
      <bdi>{kindText(textOf(row, "name"))}</bdi>
      {step !== null && (
        <>
          {" "}
          of step <bdi>{step.slice(0, 80)}</bdi>
        </>
      )}{" "}
      on {counted(numberOf(row, "ranks") ?? 0, "rank")}, on one clock
    </>
  );
}

function Shown(props: PictureProps): ReactElement {
  const { shown } = props;
  return (
    <>
      {shown.refused === null ? (
        <Picture {...props} />
      ) : (
        <p className="together-refused">
          These ranks cannot be shown on one clock: {shown.refused}.
        </p>
      )}
      <RankPages shown={shown} />
    </>
  );
}

/** Which ranks these are, where the collective has more than one answer holds. */
function RankPages({ shown }: { shown: CollectiveRanks }): ReactElement | null {
  const change = useChangeRanks();
  const { offset, left_out: left } = shown;
  if (offset === 0 && left === 0) return null;
  return (
    <nav className="toolbar" aria-label="Further ranks">
      <button
        type="button"
        disabled={offset === 0}
        onClick={() => change({ others: Math.max(offset - PAGE, 0) })}
      >
        Earlier ranks
      </button>
      <span role="status">
        {count(offset)} ranks before these, {count(left)} after; the straggler is always shown
      </span>
      <button type="button" disabled={left === 0} onClick={() => change({ others: offset + PAGE })}>
        Later ranks
      </button>
    </nav>
  );
}

/** Ranks in an answer, the late one not counted. */
const PAGE = 15;
const MOST_SHOWN = PAGE + 1;
