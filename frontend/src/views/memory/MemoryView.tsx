import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { MemoryAnswer, MemoryPeak, ReportData } from "../../api/schema";
import { Segments } from "../../components/controls";
import { Figure } from "../../components/Figure";
import { PlaceLink } from "../../parts/PlaceLink";
import { usePlace, type Loaded } from "../../parts/services";
import { inTimeline } from "../../address/links";
import { bytes, NOTHING } from "../../text/formats";
import { pathText } from "../../text/names";
import { MEMORY_TABLES, type MemoryTable } from "./address";
import { Activations } from "./Activations";
import { AtPeak } from "./AtPeak";
import { Blocks } from "./Blocks";
import { Chart } from "./Chart";
import { MEMORY_DEFINITIONS } from "./definitions";
import { Operators } from "./Operators";
import { useChangeMemory, useMemory } from "./useMemory";

interface MemoryViewProps {
  report: ReportData;
  target: Target;
}

/** What is in use on a device over time, and what its peak consists of. */
export function MemoryView({ report, target }: MemoryViewProps): ReactElement {
  const loaded = useMemory(target, report);
  return (
    <div className="view">
      <div className="view-main memory" aria-busy={loaded.status === "loading"}>
        <Content loaded={loaded} report={report} target={target} />
      </div>
    </div>
  );
}

interface ContentProps extends MemoryViewProps {
  loaded: Loaded<MemoryAnswer>;
}

function Content({ loaded, report, target }: ContentProps): ReactElement {
  const change = useChangeMemory();
  const [{ memory: place }] = usePlace();
  if (loaded.status === "error") return <Failed loaded={loaded} />;
  const answer = loaded.value;
  if (answer === null)
    return (
      <p className="notice" role="status">
        Adding up the memory…
      </p>
    );
  const device = answer.curve?.device ?? place.device ?? answer.devices[0] ?? null;
  if (!answer.recorded || device === null) return <NotRecorded />;
  const peak = peakOf(answer, device, target.step);
  return (
    <>
      <div className="toolbar">
        <Segments
          label="Device"
          segments={answer.devices.map((value) => ({ value, title: value }))}
          chosen={device}
          onChoose={(value) => {
            change({ device: value, offset: 0 });
          }}
        />
        {answer.modules.length > 0 && (
          <Segments
            label="Chart"
            segments={CHARTS}
            chosen={place.chart}
            onChoose={(chart) => change({ chart })}
          />
        )}
      </div>
      <Figures answer={answer} peak={peak} report={report} />
      {answer.curve === null ? (
        <p className="notice">
          This trace has no totals and no addresses of blocks: torch 1.9 and before wrote neither.
          How much was in use, and what lived how long, is unknown.
        </p>
      ) : (
        <Chart
          curve={answer.curve}
          peak={peak}
          report={report}
          target={target}
          drawn={place.chart === "block" && answer.modules.length > 0}
        />
      )}
      <Lists answer={answer} device={device} report={report} target={target} />
    </>
  );
}

const CHARTS = [
  { value: "class", title: "Classes" },
  { value: "block", title: "Each block" },
] as const;
const TITLES: Readonly<Record<MemoryTable, string>> = {
  peak: "At the peak",
  activations: "Longest-lived activations",
  blocks: "Blocks",
  operators: "Operators",
};
const TABLES = MEMORY_TABLES.map((value) => ({ value, title: TITLES[value] }));

interface ListsProps extends MemoryViewProps {
  answer: MemoryAnswer;
  device: string;
}

/** Tables of what the trace holds: without addresses that is what operators allocate. */
function Lists({ answer, device, report, target }: ListsProps): ReactElement {
  const [{ memory: place }] = usePlace();
  const change = useChangeMemory();
  if (answer.modules.length === 0) {
    return (
      <section className="facet" aria-label={TITLES.operators}>
        <h2>What operators allocate</h2>
        <Operators report={report} device={device} />
      </section>
    );
  }
  return (
    <>
      <Segments
        label="Table"
        segments={TABLES}
        chosen={place.table}
        onChoose={(table) => {
          change({ table });
        }}
      />
      {place.table === "operators" && <Operators report={report} device={device} />}
      {place.table === "blocks" && <Blocks target={target} device={device} place={place} />}
      {place.table === "activations" && <Activations rows={answer.modules} />}
      {place.table === "peak" && <AtPeak rows={answer.modules} />}
    </>
  );
}

/** The peak of the steps shown; the largest where there are several. */
function peakOf(answer: MemoryAnswer, device: string, step: string | null): MemoryPeak | null {
  const mine = answer.peaks.filter((peak) => peak.device === device);
  const wanted = mine.filter((peak) => step !== null || peak.step === null);
  return wanted.reduce<MemoryPeak | null>(
    (most, peak) => (most === null || peak.allocated_bytes > most.allocated_bytes ? peak : most),
    null,
  );
}

interface FiguresProps {
  answer: MemoryAnswer;
  peak: MemoryPeak | null;
  report: ReportData;
}

function Figures({ answer, peak, report }: FiguresProps): ReactElement {
  const reserved = peak?.reserved_bytes ?? null;
  const of = MEMORY_DEFINITIONS;
  return (
    <>
      <dl className="figures">
        <Figure definition={of.peak} number={bytes(peak?.allocated_bytes)} />
        <Figure definition={of.reserved} number={bytes(reserved)} />
        <Figure
          definition={of.unused}
          number={
            reserved === null || peak === null ? NOTHING : bytes(reserved - peak.allocated_bytes)
          }
        />
        <Figure definition={of.parameters} number={bytes(answer.parameter_bytes)} />
      </dl>
      {peak !== null && (
        <p className="notice">
          The peak is reached in {peak.operator ?? "no operator"}
          {peak.phase === null ? "" : `, ${peak.phase}`}
          {peak.module === null ? "" : `, in module ${pathText(peak.module)}`}
          {peak.step === null ? "" : `, ${peak.step}`}.{" "}
          <PlaceLink to={inTimeline(report, peak.time_us, 1000, peak.event_id)}>
            Show it in the timeline
          </PlaceLink>
        </p>
      )}
    </>
  );
}

function Failed({
  loaded,
}: {
  loaded: Extract<Loaded<MemoryAnswer>, { status: "error" }>;
}): ReactElement {
  const change = useChangeMemory();
  const [, go] = usePlace();
  return (
    <div className="state" role="alert">
      <h1>The memory cannot be shown</h1>
      <p className="message">
        <bdi>{loaded.error.message}</bdi>
      </p>
      <button
        type="button"
        className="primary"
        onClick={() => {
          go({ shown: null });
          change({ device: null, offset: 0 });
          loaded.retry();
        }}
      >
        Start over
      </button>
    </div>
  );
}

const RECORD = `with hookview.profile("runs/memory", profile_memory=True) as prof:`;

function NotRecorded(): ReactElement {
  return (
    <div className="state">
      <h1>This trace has no memory events</h1>
      <p className="message">Record it with profile_memory=True, on any device, the CPU too:</p>
      <pre className="code">{RECORD}</pre>
      <button type="button" onClick={() => void navigator.clipboard.writeText(RECORD)}>
        Copy this line
      </button>
    </div>
  );
}
