import { useMemo, type CSSProperties, type ReactElement } from "react";

import { useWidth } from "../../../components/browser";
import { isHighlighted } from "../../../report/syncs";
import { clip, count, duration } from "../../../text/formats";
import { pathText } from "../../../text/names";
import { lineage } from "../moduleTree";
import type { Modules, SharedSelection } from "../useModules";
import { layoutIcicle, type Block } from "./layout";

const LEVEL_HEIGHT = 27;
const MOST_LEVELS = 5;
const LEAST_BLOCK_PX = 3;
/** Room for four letters and an ellipsis: less of a name says nothing. */
const LEAST_LABEL_PX = 56;

interface IcicleProps {
  modules: Modules;
  /** Unattributed time, in the icicle's measure. */
  rest: number;
  /** Length of the steps, against which a sync is crimson. */
  step: number;
  zoom: number | null;
  /** Whether each block shows the forward too. */
  withForward: boolean;
  shared: SharedSelection;
  onPick: (index: number) => void;
}

/** Width is total time, depth of colour self time. The table below says the same in numbers. */
export function Icicle(props: IcicleProps): ReactElement {
  const { modules, rest, zoom } = props;
  const [frame, width] = useWidth<HTMLDivElement>();
  const blocks = useMemo(
    () =>
      layoutIcicle({
        tree: modules.tree,
        order: modules.order,
        numbers: modules.numbers,
        zoom,
        rest,
        levels: MOST_LEVELS,
        least: LEAST_BLOCK_PX / Math.max(width, 1),
      }),
    [modules, rest, zoom, width],
  );
  const levels = blocks.reduce((most, block) => Math.max(most, block.level + 1), 1);
  return (
    <div
      ref={frame}
      className="icicle"
      role="img"
      aria-label={`Modules by ${modules.chosen.quantity} time; the table below holds the same numbers.`}
      style={{ height: levels * LEVEL_HEIGHT }}
      onMouseLeave={() => props.shared.onHover(null)}
    >
      {blocks.map((block) => (
        <BlockView
          key={`${block.level}/${block.module ?? `${block.kind}${block.left}`}`}
          {...props}
          block={block}
          width={width}
        />
      ))}
    </div>
  );
}

interface BlockViewProps extends IcicleProps {
  block: Block;
  width: number;
}

function BlockView(props: BlockViewProps): ReactElement {
  const { block, modules, shared, onPick } = props;
  const { module } = block;
  return (
    <div
      className={classOf(props)}
      title={titleOf(block, modules, props.withForward)}
      style={
        {
          transform: `translate(${block.left * 100}cqi, ${block.level * LEVEL_HEIGHT}px)`,
          width: `calc(${block.width * 100}% - 1px)`,
          "--shade": block.shade,
        } as CSSProperties
      }
      onMouseEnter={() => shared.onHover(module)}
      onClick={() => {
        if (module !== null) onPick(module);
      }}
    >
      {block.width * props.width >= LEAST_LABEL_PX && <bdi>{clip(labelOf(block, props), 200)}</bdi>}
      {props.withForward && <ForwardBar block={block} modules={modules} />}
    </div>
  );
}

/** A module's forward to the scale of its block, up to the block's width. */
function ForwardBar({ block, modules }: Pick<BlockViewProps, "block" | "modules">): ReactElement {
  const forward = block.module === null ? 0 : (modules.numbers[block.module]?.forward ?? 0);
  const part = block.value > 0 ? Math.min(1, forward / block.value) : 0;
  return <span className="block-forward" style={{ width: `${part * 100}%` }} />;
}

function classOf(props: BlockViewProps): string {
  const { block, modules, step } = props;
  const names = ["block", block.kind];
  if (block.module !== null) {
    const lost = modules.numbers[block.module]?.ownLost ?? 0;
    if (isHighlighted(lost, step)) names.push("look");
    if (block.module === props.shared.selected) names.push("selected");
    if (block.module === props.shared.hovered) names.push("hovered");
    if (modules.search !== null && !modules.search.shown.has(block.module)) names.push("faded");
  }
  return names.join(" ");
}

/** What is narrower has room for a name alone. */
const NARROW_PX = 110;

function labelOf(block: Block, { modules, zoom, width }: BlockViewProps): string {
  if (block.kind === "rest") return `not attributed · ${duration(block.value)}`;
  const node = block.module === null ? undefined : modules.tree.nodes[block.module];
  if (node === undefined) return `${count(block.count)} more`;
  if (node.module === null) return `${node.label} · ${node.className} · ${duration(block.value)}`;
  if (node.depth > 0 && block.width * width < NARROW_PX) return node.label;
  if (node.depth > 0 && node.index !== zoom) return `${node.label} · ${duration(block.value)}`;
  return `${node.label} · ${node.className} · ${duration(block.value)}`;
}

function titleOf(block: Block, modules: Modules, withForward: boolean): string {
  if (block.kind === "rest") return `not attributed\n${duration(block.value)}`;
  if (block.module === null) return `${count(block.count)} small modules\n${duration(block.value)}`;
  const chain = lineage(modules.tree, block.module);
  const node = chain.at(-1);
  const numbers = modules.numbers[block.module];
  const own = numbers?.self ?? null;
  if (node?.module === null) {
    return `${clip(node.label, 500)}\n${node.className}\n${duration(own)} of their own`;
  }
  const forward = withForward ? `\nforward ${duration(numbers?.forward ?? null)}` : "";
  const syncs =
    numbers !== undefined && numbers.ownBlocked > 0
      ? `\nhost blocked ${duration(numbers.ownBlocked)}`
      : "";
  return `${clip(pathText(node?.path ?? ""), 500)}\n${clip(node?.className ?? "", 200)}\n${duration(block.value)} in all, ${duration(own)} of its own${forward}${syncs}`;
}
