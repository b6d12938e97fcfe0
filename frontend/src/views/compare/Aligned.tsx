import { type ReactElement, useMemo, useState } from "react";

import type { CompareSide } from "../../api/client";
import type { Comparison, ReportData } from "../../api/schema";
import { usePalette } from "../../components/browser";
import { PlaceLink } from "../../parts/PlaceLink";
import { LanesCanvas } from "../../parts/lanes/LanesCanvas";
import { Movement, within } from "../../parts/lanes/Movement";
import { AXIS_PX, type LaneRow, type Picture } from "../../parts/lanes/draw";
import { clip } from "../../text/formats";
import { shortKernelName } from "../../text/kernelName";
import { stepLabel } from "../../text/names";
import type { Span } from "../../text/span";
import { coloursOf } from "../../theme/colours";
import { AlignedCursor } from "./AlignedCursor";
import {
  type AlignedRow,
  alignedRows,
  type AlignedSides,
  type AlignedStep,
  differing,
  medianStep,
  ROW_TITLES,
  type SideLanes,
  type SideName,
  useAligned,
} from "./aligned";
import { isPerStep } from "./definitions";
import { stepPlace } from "./rows";

const ROW_PX = 17;

interface AlignedProps {
  comparison: Comparison;
  base: CompareSide;
  other: CompareSide;
  /** Reports of all steps; of the side before null until it is there. */
  before: ReportData | null;
  after: ReportData;
  /** Takes the id of a row of the comparison. */
  onSelect: (row: string) => void;
}

/** The median step of both sides, one below the other from their starts. */
export function Aligned(props: AlignedProps): ReactElement {
  const { comparison, base, other, before, after } = props;
  const steps = useMemo(
    () => ({
      base: before === null ? null : medianStep(before, comparison.base.step_names),
      other: medianStep(after, comparison.other.step_names),
    }),
    [before, after, comparison],
  );
  const perStep = isPerStep(comparison);
  const longest = Math.max(steps.base?.length ?? 0, steps.other.length, 1);
  const bounds = useMemo(() => ({ from: 0, to: longest }), [longest]);
  const [chosen, setChosen] = useState<Span | null>(null);
  const span = useMemo(() => within(chosen ?? bounds, bounds), [chosen, bounds]);
  const asked = steps.base === null ? null : { side: base, step: steps.base };
  const loaded = useAligned(asked, { side: other, step: steps.other }, span);
  const shown = loaded.value;
  return (
    <section
      className="facet aligned"
      aria-label="Timelines"
      aria-busy={loaded.status === "loading"}
    >
      <header>
        <h2>
          When{" "}
          <span className="muted">
            {perStep ? "the step of median length, from its start" : "from the start of each trace"}
            : <StepLink title="before" side={base} report={before} step={steps.base} />,{" "}
            <StepLink title="after" side={other} report={after} step={steps.other} />
          </span>
        </h2>
        <Movement
          span={span}
          bounds={bounds}
          all={perStep ? "Whole step" : "Whole trace"}
          onSpan={setChosen}
        />
      </header>
      {loaded.status === "error" ? (
        <p className="notice">
          No timelines of these {perStep ? "steps" : "traces"}: {loaded.error.message}
        </p>
      ) : shown === null || steps.base === null ? (
        <div className="aligned-awaited" role="status" aria-label="Loading the timelines" />
      ) : (
        <Rows
          {...props}
          shown={shown}
          steps={{ base: steps.base, other: steps.other }}
          view={{ span, bounds, onSpan: setChosen }}
        />
      )}
    </section>
  );
}

interface StepLinkProps {
  title: string;
  side: CompareSide;
  report: ReportData | null;
  step: AlignedStep | null;
}

/** Which step of a side it is; leads to the timeline of its own trace. */
function StepLink({ title, side, report, step }: StepLinkProps): ReactElement {
  if (report === null || step === null) return <>{title}</>;
  const name = step.name === null ? "the whole trace" : `step ${stepLabel(step.name)}`;
  return (
    <>
      {title}{" "}
      <PlaceLink to={stepPlace(report, side, step)}>
        <bdi>{clip(name, 80)}</bdi>
      </PlaceLink>
    </>
  );
}

interface View {
  span: Span;
  bounds: Span;
  onSpan: (span: Span | null) => void;
}

interface RowsProps extends AlignedProps {
  shown: AlignedSides;
  steps: Readonly<Record<SideName, AlignedStep>>;
  view: View;
}

function Rows(props: RowsProps): ReactElement {
  const { comparison, shown, steps, view, onSelect } = props;
  const palette = usePalette();
  const rows = useMemo(() => rowsOf(shown, steps), [shown, steps]);
  const marks = useMemo(
    () => ({ base: differing(comparison, "base"), other: differing(comparison, "other") }),
    [comparison],
  );
  const { span } = view;
  const picture = useMemo(
    (): Picture => ({
      rowPx: ROW_PX,
      span,
      palette,
      rows: rows.map((row, at) => {
        const { timeline, window } = shown[row.side];
        const above = rows[at - 1];
        const isModule = row.kind === "forward" || row.kind === "backward";
        return {
          blocks: window.lanes.find(({ id }) => id === row.lane),
          depth: row.depth,
          names: row.kind === "device" ? window.names.map(shortKernelName) : window.names,
          meanings: timeline.colours,
          fills: coloursOf(timeline.colours, palette),
          origin: steps[row.side].from,
          end: steps[row.side].length,
          rule: above?.kind !== row.kind ? 2 : above.side !== row.side ? 1 : 0,
          mark: (name) => {
            const change = isModule ? marks[row.side].get(name)?.change : undefined;
            return change === undefined ? null : change > 0 ? palette.more : palette.less;
          },
        } satisfies LaneRow;
      }),
    }),
    [rows, shown, steps, span, palette, marks],
  );
  return (
    <div className="lanes-body">
      <Labels rows={rows} />
      <div className="aligned-picture">
        <LanesCanvas picture={picture} />
        <AlignedCursor
          rows={rows}
          rowPx={ROW_PX}
          shown={shown}
          steps={steps}
          marks={marks}
          view={view}
          onSelect={onSelect}
        />
      </div>
    </div>
  );
}

function rowsOf(shown: AlignedSides, steps: RowsProps["steps"]): AlignedRow[] {
  const of = (side: SideName): SideLanes => ({
    lanes: shown[side].timeline.lanes,
    blocks: shown[side].window.lanes,
    end: steps[side].from + steps[side].length,
  });
  return alignedRows({ base: of("base"), other: of("other") });
}

/** Names of the rows; a kind and a side are said once. */
function Labels({ rows }: { rows: readonly AlignedRow[] }): ReactElement {
  return (
    <ul className="lanes-labels" style={{ paddingBlockStart: AXIS_PX }} aria-label="Lanes">
      {rows.map(({ kind, side, place }, at) => (
        <li key={`${kind} ${side} ${place}`} style={{ height: ROW_PX }}>
          <span>{rows[at - 1]?.kind === kind ? "" : ROW_TITLES[kind]}</span>
          <span className="muted">{place > 0 ? "" : side === "base" ? "before" : "after"}</span>
        </li>
      ))}
    </ul>
  );
}
