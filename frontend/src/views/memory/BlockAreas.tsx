import { memo, useMemo, type PointerEvent, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { MemoryCurve, ReportData } from "../../api/schema";
import { inTimeline } from "../../address/links";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { useAsk, useServices } from "../../parts/services";
import { chainLines } from "../../report/chain";
import { bytes, clip, duration } from "../../text/formats";
import { pathText } from "../../text/names";
import { colourOf, MEMORY_COLOURS } from "../../theme/colours";
import { polygon, restOf, stackBlocks, type Block } from "./blockStack";
import { between } from "./curve";
import { CLASS_DEFINITIONS } from "./definitions";

interface BlockAreasProps {
  blocks: readonly Block[];
  curve: MemoryCurve;
  highest: number;
  chosen: Block | null;
  onPoint: (block: Block | null) => void;
}

/** Each block as a polygon; below them what never changes, above them the smaller blocks. */
export const BlockAreas = memo(function BlockAreas(props: BlockAreasProps): ReactElement {
  const { blocks, curve, highest, chosen, onPoint } = props;
  const { areas, rest } = useMemo(() => {
    const { stacked, top } = stackBlocks(blocks, curve.start_us, curve.end_us);
    const others = restOf(curve, top);
    const base = others.reduce((least, one) => Math.min(least, one), Infinity);
    const floor = curve.allocated_bytes.map((all, index) => all - (others[index] ?? 0) + base);
    const none = floor.map(() => 0);
    return {
      rest: [
        between(
          curve,
          none,
          floor.map(() => base),
          highest,
        ),
        between(curve, floor, curve.allocated_bytes, highest),
      ],
      areas: stacked.map((one) => ({
        block: one.block,
        path: polygon(one, curve, base, highest),
      })),
    };
  }, [blocks, curve, highest]);
  const point = ({ target }: PointerEvent<SVGGElement>): void => {
    const index = target instanceof SVGElement ? target.dataset.index : undefined;
    onPoint(index === undefined ? null : (areas[Number(index)]?.block ?? null));
  };
  return (
    <g onPointerOver={point} onPointerLeave={() => onPoint(null)}>
      {rest.map((path, index) => (
        <path key={index} className="memory-rest" d={path} />
      ))}
      {areas.map(({ block, path }, index) => (
        <path
          key={block.id}
          data-index={index}
          className={`memory-block ${block === chosen ? "chosen" : ""}`}
          d={path}
          style={{ color: colourOf(MEMORY_COLOURS[block.kind]) }}
        />
      ))}
    </g>
  );
});

interface BlockNoteProps {
  block: Block | null;
  held: boolean;
  report: ReportData;
  target: Target;
}

/** The block that is pointed at, and the stack that allocated it. */
export function BlockNote({ block, held, report, target }: BlockNoteProps): ReactElement {
  if (block === null) {
    return (
      <p className="memory-note muted">
        Point at a block to see what allocated it; a click keeps it. Grey is what is not drawn:
        smaller blocks, and what was there before.
      </p>
    );
  }
  const { kind, operator, operatorId, module, from, to } = block;
  const facts = [
    bytes(block.bytes),
    CLASS_DEFINITIONS[kind].title,
    from === null || to === null ? null : `lives ${duration(to - from)}`,
    from === null ? "from before the recording" : null,
    to === null ? "not freed in it" : null,
  ];
  return (
    <div className="memory-note">
      <p>
        <strong>{facts.filter((fact) => fact !== null).join(", ")}</strong>{" "}
        {module !== null && <Name text={pathText(module)} className="code" />}{" "}
        {held && from !== null && operatorId !== null && (
          <PlaceLink to={inTimeline(report, from, 1000, operatorId)}>
            Show it in the timeline
          </PlaceLink>
        )}
      </p>
      {operatorId === null ? (
        <p className="muted">The trace has no operator around its allocation.</p>
      ) : (
        <Stack key={operatorId} id={operatorId} name={operator ?? ""} target={target} />
      )}
    </div>
  );
}

function Stack({ id, name, target }: { id: number; name: string; target: Target }): ReactElement {
  const { api } = useServices();
  const loaded = useAsk(api.timeline.event, [target, String(id)]);
  const lines = chainLines(loaded.value ?? { name, chain: [] });
  return (
    <pre className="chain" tabIndex={0} aria-label="Call stack">
      {lines.map(({ indent, text }, index) => (
        <span key={index}>
          {indent}
          <bdi>{clip(text, 300)}</bdi>
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
