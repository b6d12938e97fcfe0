import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { restOf } from "../../model/lens";
import { divisor, over, stepsLength } from "../../model/measures";
import { indexOfPath } from "../../model/moduleTree";
import { usePlace } from "../state/context";
import type { Bond } from "./bond";
import { Breadcrumb } from "./Breadcrumb";
import { Icicle } from "./Icicle";
import type { Folds } from "./useFolds";
import type { Modules } from "./useModules";

interface PictureProps {
  report: WireReport;
  modules: Modules;
  bond: Bond;
  folds: Folds;
}

/** The icicle and the way back out of a subtree. */
export function Picture({ report, modules, bond, folds }: PictureProps): ReactElement {
  const [place, go] = usePlace();
  const { tree, lens, grouping } = modules;
  const by = divisor(report, lens.averaging);
  const zoom = grouping === "instance" ? indexOfPath(tree, place.zoom) : null;
  const pick = (index: number): void => {
    const node = tree.nodes[index];
    if (node === undefined) return;
    folds.reveal(index);
    if (node.module === null) folds.fold(index, true);
    else if (node.children.length > 0) go({ module: node.path, zoom: node.path });
    else go({ module: node.path });
  };
  return (
    <section className="picture" aria-label="Picture">
      <Breadcrumb
        modules={modules}
        zoom={zoom}
        onZoom={(index) => {
          go({ zoom: index === null ? null : (tree.nodes[index]?.path ?? null) });
        }}
      />
      <Icicle
        modules={modules}
        rest={over(restOf(report, lens), by) ?? 0}
        step={stepsLength(report) / by}
        zoom={zoom}
        bond={bond}
        onPick={pick}
      />
    </section>
  );
}
