import { useMemo, type CSSProperties, type ReactElement } from "react";

import type { Comparison, ReportData } from "../../api/schema";
import { useWidth } from "../../components/browser";
import { clip } from "../../text/formats";
import { changeOf } from "./changes";
import { differenceBlocks } from "./differenceIcicle";

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
            title={`${clip(block.name, 500)}\n${changeOf(block.change)} per step`}
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
