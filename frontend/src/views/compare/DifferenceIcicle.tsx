import { hierarchy, partition } from "d3-hierarchy";
import { type CSSProperties, type ReactElement, useMemo } from "react";

import type { Comparison, Module, ModuleChange, Pair, ReportData } from "../../api/schema";
import { useWidth } from "../../components/browser";
import { clip } from "../../text/formats";
import { pathText } from "../../text/names";
import { changeOf } from "./changes";
import { isPerStep } from "./definitions";

interface DifferenceIcicleProps {
  comparison: Comparison;
  /** Report of the side after. */
  after: ReportData;
  selected: string | null;
  onSelect: (row: string) => void;
}

const LEVEL_PX = 26;
/** From this width on a block has its name on it. */
const NAMED_PX = 48;

/** Where in the tree of modules time was gained and lost; the table says the same in numbers. */
export function DifferenceIcicle(props: DifferenceIcicleProps): ReactElement | null {
  const { comparison, after, selected, onSelect } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const blocks = useMemo(
    () => differenceBlocks(comparison.modules, after.modules),
    [comparison.modules, after.modules],
  );
  if (blocks.length === 0) return null;
  const levels = 1 + Math.max(...blocks.map(({ level }) => level));
  return (
    <figure className="difference">
      <figcaption className="muted">
        Width is the longer side&apos;s time, with modules below;{" "}
        <span className="difference-key less">less</span> or{" "}
        <span className="difference-key more">more</span> of it than before.
      </figcaption>
      <div
        ref={box}
        className="difference-icicle"
        style={{ height: levels * LEVEL_PX }}
        aria-hidden="true"
      >
        {blocks.map((block) => (
          <div
            key={block.id}
            className={[
              "difference-block",
              block.shade < 0 ? "less" : "more",
              ...(block.id === selected ? ["selected"] : []),
            ].join(" ")}
            title={`${clip(block.name, 500)}\n${changeOf(block.change)}${isPerStep(comparison) ? " per step" : ""}`}
            style={
              {
                transform: `translate(${block.left * 100}cqi, ${block.level * LEVEL_PX}px)`,
                width: `calc(${block.width * 100}% - 1px)`,
                "--size": Math.abs(block.shade),
              } as CSSProperties
            }
            onClick={() => onSelect(block.id)}
          >
            {block.width * width >= NAMED_PX && (
              <bdi>{`${clip(block.name, 200)} ${changeOf(block.change)}`}</bdi>
            )}
          </div>
        ))}
      </div>
    </figure>
  );
}

/**
 * One block of the difference icicle: as wide as the longer of both sides, with the modules below
 * it. Extents are fractions of the width.
 */
interface DifferenceBlock {
  /** Of the row of the comparison. */
  readonly id: string;
  readonly name: string;
  readonly left: number;
  readonly width: number;
  readonly level: number;
  /** Of the module and those below it, microseconds per step. */
  readonly change: number;
  /** The change against the largest that is shown, -1 to 1. */
  readonly shade: number;
}

interface Node {
  /** null: above all others. */
  readonly row: ModuleChange | null;
  readonly children: Node[];
  /** The longer side of the module alone. */
  readonly length: number;
  /** Of the module and those below it. */
  change: number;
}

/** Narrower ones cannot be seen; the table has them. */
const LEAST = 0.002;
const MOST_LEVELS = 6;

/** The modules of both sides as one tree, that of the side after; what vanished is by its path. */
export function differenceBlocks(
  changes: readonly ModuleChange[],
  after: readonly Module[],
): DifferenceBlock[] {
  const tree = hierarchy(treeOf(changes, after))
    .eachAfter(({ data, children = [] }) => {
      data.change += children.reduce((all, child) => all + child.data.change, 0);
    })
    .sum(({ length }) => length)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const shown = partition<Node>()(tree)
    .descendants()
    .filter(({ x0, x1, depth }) => depth > 0 && depth <= MOST_LEVELS && x1 - x0 >= LEAST);
  const most = Math.max(0, ...shown.map(({ data }) => Math.abs(data.change)));
  return shown.flatMap(({ data: { row, change }, x0, x1, depth }) =>
    row === null
      ? []
      : {
          id: row.id,
          name: pathText(row.path),
          left: x0,
          width: x1 - x0,
          level: depth - 1,
          change,
          shade: most === 0 ? 0 : change / most,
        },
  );
}

function treeOf(changes: readonly ModuleChange[], after: readonly Module[]): Node {
  const parents = new Map(after.map(({ id, parent_id: parent }) => [id, parent]));
  const byId = new Map<number, Node>();
  const byPath = new Map<string, Node>();
  const known = changes.filter(({ status }) => status !== "unknown");
  const nodes = known.map((row): Node => {
    const sides = [row.forward_us, row.backward_us];
    const node: Node = {
      row,
      children: [],
      length: Math.max(sum(sides, "base"), sum(sides, "other")),
      change: sum(sides, "change"),
    };
    if (row.other_id !== null) byId.set(row.other_id, node);
    byPath.set(row.path, node);
    return node;
  });
  const top: Node = { row: null, children: [], length: 0, change: 0 };
  for (const node of nodes) {
    const id = node.row?.other_id ?? null;
    const parent = id === null ? undefined : byId.get(parents.get(id) ?? -1);
    const above = id === null ? nearest(byPath, node) : parent;
    (above ?? top).children.push(node);
  }
  return top;
}

/** The module of the longest beginning of the path of one that vanished. */
function nearest(byPath: ReadonlyMap<string, Node>, vanished: Node): Node | undefined {
  const parts = vanished.row?.path.split(".") ?? [];
  return parts
    .map((_, at) => byPath.get(parts.slice(0, parts.length - 1 - at).join(".")))
    .find((found) => found !== undefined && found !== vanished);
}

function sum(pairs: readonly Pair[], side: keyof Pair): number {
  return pairs.reduce((all, pair) => all + (pair[side] ?? 0), 0);
}
