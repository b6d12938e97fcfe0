import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { divisor, over, stepsLength, unattributedTotal } from "../../model/measures";
import { usePlace } from "../state/context";
import type { Bond } from "./bond";
import { Breadcrumb } from "./Breadcrumb";
import { Icicle } from "./Icicle";
import type { Modules } from "./useModules";

interface PictureProps {
  report: WireReport;
  modules: Modules;
  bond: Bond;
  zoom: number | null;
  /** Make a module's row visible in the table. */
  onReveal: (index: number) => void;
}

/** The icicle and the way back out of a subtree. */
export function Picture({ report, modules, bond, zoom, onReveal }: PictureProps): ReactElement {
  const [place, go] = usePlace();
  const by = divisor(report, place.averaging);
  const pick = (index: number): void => {
    const node = modules.tree.nodes[index];
    if (node === undefined) return;
    onReveal(index);
    go(node.children.length > 0 ? { module: node.path, zoom: node.path } : { module: node.path });
  };
  return (
    <section className="picture" aria-label="Picture">
      <Breadcrumb
        modules={modules}
        zoom={zoom}
        onZoom={(index) => {
          go({ zoom: index === null ? null : (modules.tree.nodes[index]?.path ?? null) });
        }}
      />
      <Icicle
        modules={modules}
        rest={over(unattributedTotal(report), by) ?? 0}
        step={stepsLength(report) / by}
        zoom={zoom}
        bond={bond}
        onPick={pick}
      />
    </section>
  );
}
