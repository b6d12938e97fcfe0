import { type ReactElement, useState } from "react";

import { devicePlace, phasePlace, withoutFinding } from "../../address/links";
import type { Place } from "../../address/place";
import type { Target } from "../../api/request";
import type { ReportData, Runs } from "../../api/schema";
import {
  Band,
  type BandBlock,
  type BandHead,
  type BandSaving,
  WORTH_SAYING,
} from "../../parts/Band";
import { PlaceLink } from "../../parts/PlaceLink";
import { FEW_RANKS, type RunKey, useOverview, useRunKey } from "../../parts/run";
import { perText, shownSaving } from "../../report/findings";
import { replayedStep, replayedWhat } from "../../report/measures";
import {
  drawnPath,
  OUTSIDE,
  pathHeads,
  type PathSegment,
  pathSegments,
  segmentText,
} from "../../report/pathBar";
import { labelledDevice, labelledPhases, stepBars } from "../../report/stepBars";
import { stragglersText } from "../../report/stragglers";
import { counted } from "../../text/formats";
import { DEVICE_COLOURS, type Palette, PATH_COLOURS, PHASE_COLOURS } from "../../theme/colours";

/** What decides the length of a step, what that consists of, and what the first finding would save. */
export function Verdict({ report }: { report: ReportData }): ReactElement {
  const { sentence, unrecorded_sentence: unrecorded } = report.verdict;
  const segments = pathSegments(report);
  const known = segments.length > 0;
  return (
    <Band
      sentence={[sentence, ...(unrecorded === null ? [] : [unrecorded])].join(" ")}
      saving={savingOf(report)}
      barOf={
        known
          ? `Critical path ${perText(report)}${ofRecordedWork(report) ? ", recorded work" : ""}`
          : report.per_step.marked
            ? "Mean step"
            : "Trace"
      }
      {...(known
        ? { heads: headsOf(report, segments), blocks: segments.map(blockOf) }
        : withoutPath(report))}
    />
  );
}

/** Whether the bar leaves out what is not in the trace; then it says so. */
function ofRecordedWork(report: ReportData): boolean {
  return drawnPath(report).length < report.critical_path_work.length;
}

function headsOf(report: ReportData, segments: readonly PathSegment[]): BandHead[] {
  const more = ofRecordedWork(report) ? ", recorded work" : "";
  return pathHeads(segments).map((head) =>
    head.text === "" ? head : { ...head, text: head.text + more },
  );
}

/** The length of a step in the replay, as it was and without the first finding. */
function savingOf(report: ReportData): BandSaving | null {
  const [first] = report.findings;
  const from = replayedStep(report);
  const gain = first?.gain_us_per_step ?? null;
  if (first === undefined || first.negligible || from === null || gain === null) return null;
  if (report.verdict.bound === "unknown" || gain < WORTH_SAYING * from) return null;
  const of = `${perText(report)} ${replayedWhat(report)}`.trim();
  return {
    from,
    to: from - gain,
    of: `${of}, without the first finding${shownSaving(first).estimated ? ", as recorded" : ""}`,
    button: "What if",
    title: `${first.title}: estimate by trace replay`,
    place: withoutFinding(first.id),
  };
}

function blockOf(segment: PathSegment): BandBlock {
  const { key, label, us, share } = segment;
  const text = segmentText(segment);
  return { key, label, us, share, text, colour: colour(segment), place: placeOf(segment) };
}

function colour({ part, phase, label }: PathSegment): keyof Palette {
  if (label === OUTSIDE) return "idle";
  return phase === null ? PATH_COLOURS[part] : PHASE_COLOURS[phase];
}

function placeOf({ part, phase }: PathSegment): Partial<Place> {
  const fresh = { search: "", sort: null } as const;
  if (phase === "forward" || phase === "backward") {
    return { view: "modules", quantity: phase, ...fresh };
  }
  return { view: part === "device" ? "kernels" : "timeline", ...fresh };
}

/** Of steps that cannot be replayed: what the host does in one, or the device where that says more. */
function withoutPath(report: ReportData): { heads: BandHead[]; blocks: BandBlock[] } {
  const [mean] = stepBars(report);
  if (mean === undefined) return { heads: [], blocks: [] };
  const phases = labelledPhases(mean.host).filter(({ us }) => us > 0);
  const host = phases.every(({ key }) => key === "other") ? [] : phases;
  const device = labelledDevice(mean.device ?? []).filter(({ us }) => us > 0);
  if (host.length < 2 && device.length > 0) {
    return {
      heads: [{ key: "device", text: "device", share: 1 }],
      blocks: device.map((part) => ({
        ...blockOfPart(part, "device"),
        colour: DEVICE_COLOURS[part.key],
        place: devicePlace(part.key),
      })),
    };
  }
  return {
    heads: host.length === 0 ? [] : [{ key: "host", text: "host", share: 1 }],
    blocks: host.map((part) => ({
      ...blockOfPart(part, "host"),
      colour: PHASE_COLOURS[part.key],
      place: phasePlace(part.key),
    })),
  };
}

function blockOfPart(
  {
    key,
    us,
    share,
    definition: { title },
  }: ReturnType<typeof labelledPhases | typeof labelledDevice>[number],
  of: string,
): Pick<BandBlock, "key" | "label" | "text" | "us" | "share"> {
  return { key, label: title, text: `${of}, ${title}`, us, share };
}

interface RunNoteProps {
  report: ReportData;
  target: Target;
  listed: Runs;
}

/** For whom the ranks of the run wait; nothing where the trace is the only one. */
export function RunNote({ report, target, listed }: RunNoteProps): ReactElement | null {
  const key = useRunKey(listed, target.run);
  const workers = listed.runs.find(({ name }) => name === target.run)?.workers.length ?? 0;
  const [asked, setAsked] = useState(false);
  if (workers < 2 || (report.trace.world_size ?? 1) < 2) return null;
  return (
    <section className="facet run-note" aria-label="Ranks of the run">
      {asked || workers <= FEW_RANKS ? (
        <Stragglers runKey={key} workers={workers} />
      ) : (
        <button type="button" className="link" onClick={() => setAsked(true)}>
          Read the {counted(workers, "trace")} of this run to find stragglers
        </button>
      )}
    </section>
  );
}

function Stragglers({ runKey, workers }: { runKey: RunKey; workers: number }): ReactElement {
  const { value, status } = useOverview(runKey);
  const ranks = <PlaceLink to={{ view: "ranks" }}>{counted(workers, "rank")}</PlaceLink>;
  if (value === null) {
    return <p className="muted">{status === "error" ? ranks : <>Reading {ranks} ...</>}</p>;
  }
  return (
    <p>
      {ranks}: {value.nothing ?? stragglersText(value)}
    </p>
  );
}
