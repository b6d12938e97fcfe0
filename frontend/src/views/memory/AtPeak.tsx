import type { ReactElement } from "react";

import type { MemoryModule } from "../../api/schema";
import { Name } from "../../components/Name";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { bytes, NOTHING } from "../../text/formats";
import { pathText } from "../../text/names";
import { colourOf, MEMORY_COLOURS } from "../../theme/colours";
import { MEMORY_CLASSES, type MemoryClass } from "./curve";
import { CLASS_DEFINITIONS, MEMORY_DEFINITIONS } from "./definitions";
import { treemap } from "./treemap";

/** Rectangles that are drawn; smaller ones are in the table. */
const MOST = 150;
/** Height of the treemap in widths of it. */
const ASPECT = 0.22;
/** Part of the map from which a rectangle has a name upon it. */
const NAMED = 0.02;

interface Cell {
  module: string;
  kind: MemoryClass;
  size: number;
}

/** What the peak consists of, by module and class: a picture and a table. */
export function AtPeak({ rows }: { rows: readonly MemoryModule[] }): ReactElement {
  const live = rows.filter((row) => row.peak_bytes > 0);
  const kinds = MEMORY_CLASSES.filter((kind) => live.some((row) => row.classes[kind]));
  const columns: SmallColumn<MemoryModule>[] = [
    MODULE,
    [MEMORY_DEFINITIONS.live, (row) => bytes(row.peak_bytes)],
    ...kinds.map((kind): SmallColumn<MemoryModule> => [
      CLASS_DEFINITIONS[kind],
      (row) => (row.classes[kind] ? bytes(row.classes[kind]) : NOTHING),
    ]),
    [
      MEMORY_DEFINITIONS.checkpoint,
      (row) => (row.checkpoint_bytes ? `≤ ${bytes(row.checkpoint_bytes)}` : NOTHING),
    ],
  ];
  return (
    <>
      <Treemap cells={cellsOf(live)} />
      <SmallTable
        className="memory-table"
        columns={columns}
        rows={live}
        keyOf={({ id }) => id}
        first={20}
      />
    </>
  );
}

/** What is not in a module has no path. */
function moduleText(path: string | null): string {
  return path === null ? "not in a module" : pathText(path);
}

export const MODULE: SmallColumn<MemoryModule> = [
  "module",
  (row) => <Name text={moduleText(row.module)} className="code" />,
];

function cellsOf(rows: readonly MemoryModule[]): Cell[] {
  return rows
    .flatMap((row) =>
      MEMORY_CLASSES.map((kind) => ({
        module: moduleText(row.module),
        kind,
        size: row.classes[kind] ?? 0,
      })),
    )
    .sort((a, b) => b.size - a.size)
    .slice(0, MOST);
}

function Treemap({ cells }: { cells: Cell[] }): ReactElement {
  const percent = (part: number): string => `${part * 100}%`;
  return (
    <div className="memory-map" aria-hidden="true">
      {treemap(cells, (cell) => cell.size, 1 / ASPECT).map(({ item, x, y, width, height }) => (
        <div
          key={`${item.module} ${item.kind}`}
          className="memory-cell"
          title={`${item.module}: ${CLASS_DEFINITIONS[item.kind].title} ${bytes(item.size)}`}
          style={{
            left: percent(x),
            top: percent(y),
            width: percent(width),
            height: percent(height),
            borderColor: colourOf(MEMORY_COLOURS[item.kind]),
          }}
        >
          <span
            className="memory-fill"
            style={{ background: colourOf(MEMORY_COLOURS[item.kind]) }}
          />
          {width * height > NAMED && (
            <span className="memory-name">
              <bdi>{item.module.slice(0, 80)}</bdi>
              <span>{bytes(item.size)}</span>
            </span>
          )}
        </div>
      ))}
    </div>
  );
}
