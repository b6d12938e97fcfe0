import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { restOf } from "./lens";
import { divisor, over, stepsLength } from "../../report/measures";
import { indexOfPath } from "./moduleTree";
import { usePlace } from "../../parts/context";
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
  // A group's block is as wide as own times: no scale for the forward with those below.
  const beside = place.beside && lens.quantity !== "forward" && grouping === "instance";
  const pick = (index: number): void => {
    const node = tree.nodes[index];
    if (node === undefined) return;
    folds.reveal(index);
    if (node.module === null) {
      folds.fold(index, true);
      go({ module: null, picked: node.label });
    } else if (node.children.length > 0) go({ module: node.path, picked: null, zoom: node.path });
    else go({ module: node.path, picked: null });
  };
  return (
    <section className="picture" aria-label="Picture">
      <Breadcrumb
        modules={modules}
        zoom={zoom}
        beside={beside}
        onZoom={(index) => {
          go({ zoom: index === null ? null : (tree.nodes[index]?.path ?? null) });
        }}
      />
      <Icicle
        modules={modules}
        rest={over(restOf(report, lens), by) ?? 0}
        step={stepsLength(report) / by}
        zoom={zoom}
        beside={beside}
        bond={bond}
        onPick={pick}
      />
    </section>
  );
}
