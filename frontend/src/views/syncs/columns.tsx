import type { ReactElement, ReactNode } from "react";

import type { ReportData, RuleInfo } from "../../api/schema";
import { Name } from "../../components/Name";
import { TreeCell } from "../../components/table/DataTable";
import type { Column } from "../../components/table/props";
import { meanStep, stepsLength } from "../../report/measures";
import { avoidable, isHighlighted, lostIn } from "../../report/syncs";
import { count, durationScale, NOTHING, scaledDuration } from "../../text/formats";
import { causeTitle, stepTitle } from "../../text/names";
import { SYNC_DEFINITIONS as D } from "./definitions";
import {
  common,
  lineText,
  moduleText,
  type SyncNode,
  type SyncSortKey,
  valueOf,
  whatText,
} from "./syncTree";

/** A node of the tree and whether it is open; null for a leaf. */
export interface SyncTableRow {
  node: SyncNode;
  open: boolean | null;
}

interface Given {
  report: ReportData;
  tree: readonly SyncNode[];
  rules: readonly RuleInfo[] | null;
  search: string;
  onFold: (id: string, open: boolean) => void;
}

/** Columns of the tree of host-blocking calls. */
export function syncColumns({
  report,
  tree,
  rules,
  search,
  onFold,
}: Given): Column<SyncTableRow>[] {
  const whole = stepsLength(report);
  const largest = (of: (node: SyncNode) => number | null): number =>
    tree.reduce((most, node) => Math.max(most, of(node) ?? 0), 0);
  const most = largest(({ sum }) => sum.blocked);
  const time = durationScale(most);
  const start = durationScale(largest((node) => node.rows.at(-1)?.start ?? 0));
  const step = meanStep(report);
  const deserves = (node: SyncNode, us: number | null): boolean =>
    avoidable(node.rows.map(({ sync }) => sync)).length > 0 &&
    isHighlighted(us, node.kind === "event" ? step : whole);
  const waited = (node: SyncNode, us: number | null): ReactNode => {
    const text = scaledDuration(us, time);
    return deserves(node, us) ? <strong className="look">{text}</strong> : text;
  };
  return [
    column("what", 0, ({ node, open }) => (
      <SyncCell node={node} open={open} rules={rules} search={search} onFold={onFold} />
    )),
    column("count", 52, ({ node }) =>
      node.kind === "event" ? <span className="muted">1</span> : count(node.rows.length),
    ),
    column("blocked", 98, ({ node }) => (
      <>
        {scaledDuration(node.sum.blocked, time)}
        {most > 0 && (
          <Bar
            share={node.sum.blocked / most}
            look={deserves(node, lostIn(node.sum.blocked, node.sum.idle))}
          />
        )}
      </>
    )),
    column("idle", 88, ({ node }) => waited(node, node.sum.idle)),
    column("longest", 80, ({ node }) => scaledDuration(node.sum.longest, time)),
    column("phase", 74, ({ node }) => {
      const phase = common(node, ({ sync }) => sync.phase);
      return shared(phase, `phase ${phase.value ?? ""}`, "");
    }),
    column("module", 112, ({ node }) => shared(common(node, moduleText), "code", search)),
    column("start", 78, ({ node }) => scaledDuration(node.rows[0]?.start ?? null, start)),
  ];
}

/** Columns that give way where there is no room for all, the first first. */
const YIELDS: readonly SyncSortKey[] = ["start", "longest", "phase", "module", "idle"];

const NUMBERS: readonly SyncSortKey[] = ["count", "blocked", "idle", "longest", "start"];

function column(
  key: SyncSortKey,
  width: number,
  render: (row: SyncTableRow) => ReactNode,
): Column<SyncTableRow> {
  const yields = YIELDS.includes(key) ? { yields: YIELDS.indexOf(key) } : {};
  return {
    id: key,
    accessorFn: ({ node }) => valueOf(node, key),
    meta: { definition: D[key], width, align: NUMBERS.includes(key) ? "end" : "start", ...yields },
    cell: ({ row }) => render(row.original),
  };
}

function Bar({ share, look }: { share: number; look: boolean }): ReactNode {
  return (
    <span
      className={look ? "bar waited look" : "bar waited"}
      aria-hidden="true"
      style={{ width: `calc((100% - 12px) * ${share})` }}
    />
  );
}

/** What all syncs of a row have in common; else how many different values there are. */
function shared(
  { value, different }: { value: string | null; different: number },
  className: string,
  search: string,
): ReactNode {
  if (value !== null) return <Name text={value} className={className} mark={search} />;
  return <span className="muted">{different > 1 ? `${different} different` : NOTHING}</span>;
}

interface SyncCellProps {
  node: SyncNode;
  /** null: a leaf. */
  open: boolean | null;
  rules: readonly RuleInfo[] | null;
  search: string;
  onFold: (id: string, open: boolean) => void;
}

function SyncCell({ node, open, rules, search, onFold }: SyncCellProps): ReactElement {
  return (
    <TreeCell
      depth={node.level - 1}
      open={open}
      onFold={(unfold) => onFold(node.id, unfold)}
      className="sync-cell"
    >
      <What node={node} rules={rules} search={search} />
    </TreeCell>
  );
}

function What({ node, rules, search }: Omit<SyncCellProps, "open" | "onFold">): ReactElement {
  const [row] = node.rows;
  if (row === undefined) return <></>;
  if (node.kind === "cause") {
    const title = causeTitle(row.sync.cause, rules);
    return (
      <>
        <Name text={title} mark={search} />
        {title !== row.sync.cause && (
          <Name text={row.sync.cause} className="code muted" mark={search} />
        )}
      </>
    );
  }
  if (node.level === 3) {
    const { step, api } = row.sync;
    return (
      <>
        <Name text={step === null ? "not in a step" : stepTitle(step)} className="keep" />
        <Name text={api} className="code muted" mark={search} />
      </>
    );
  }
  const line = lineText(row);
  const notes = [row.sync.operator === null ? null : row.sync.node, line];
  return (
    <>
      <Name text={whatText(node)} className="code keep" mark={search} />
      <Name
        text={notes.filter((note) => note !== null).join(" · ")}
        className="code muted"
        mark={search}
      />
    </>
  );
}
