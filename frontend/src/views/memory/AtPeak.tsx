import type { ReactElement } from "react";

import type { WireMemoryModule } from "../../api/types";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { bytes } from "../../text/formats";
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
export function AtPeak({ rows }: { rows: readonly WireMemoryModule[] }): ReactElement {
  const live = rows.filter((row) => row.peak_bytes > 0);
  const kinds = MEMORY_CLASSES.filter((kind) => live.some((row) => row.classes[kind]));
  const [shown, more] = useMore(live, 20);
  return (
    <>
      <Treemap cells={cellsOf(live)} />
      <table className="small-table memory-table">
        <thead>
          <tr>
            <th scope="col">module</th>
            <th scope="col">
              <Term text={MEMORY_DEFINITIONS.live.text}>{MEMORY_DEFINITIONS.live.title}</Term>
            </th>
            {kinds.map((kind) => (
              <th key={kind} scope="col">
                <Term text={CLASS_DEFINITIONS[kind].text}>{CLASS_DEFINITIONS[kind].title}</Term>
              </th>
            ))}
            <th scope="col">
              <Term text={MEMORY_DEFINITIONS.checkpoint.text}>
                {MEMORY_DEFINITIONS.checkpoint.title}
              </Term>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Name text={moduleText(row.module)} className="code" />
              </th>
              <td>{bytes(row.peak_bytes)}</td>
              {kinds.map((kind) => (
                <td key={kind}>{row.classes[kind] ? bytes(row.classes[kind]) : ""}</td>
              ))}
              <td>{row.checkpoint_bytes ? `≤ ${bytes(row.checkpoint_bytes)}` : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** What is outside of every module has no path. */
export function moduleText(path: string | null): string {
  return path === null ? "outside of modules" : pathText(path);
}

function cellsOf(rows: readonly WireMemoryModule[]): Cell[] {
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
              <bdi>{item.module.slice(0, 80)}</bdi> {bytes(item.size)}
            </span>
          )}
        </div>
      ))}
    </div>
  );
}
