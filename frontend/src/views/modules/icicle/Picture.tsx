import type { ReactElement } from "react";

import type { ReportData } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { usePlace } from "../../../parts/services";
import { divisor, stepsLength } from "../../../report/measures";
import { isHighlighted } from "../../../report/syncs";
import { duration } from "../../../text/formats";
import { colourOf } from "../../../theme/colours";
import { over, sumOf } from "../../../text/numbers";
import { indexOfPath, lineage } from "../moduleTree";
import { restOf, workOf, type ChosenQuantity } from "../quantity";
import type { Folds, Modules, SharedSelection } from "../useModules";
import { Icicle } from "./Icicle";

interface PictureProps {
  report: ReportData;
  modules: Modules;
  shared: SharedSelection;
  folds: Folds;
}

/** The icicle and the way back out of a subtree. */
export function Picture({ report, modules, shared, folds }: PictureProps): ReactElement {
  const [place, go] = usePlace();
  const { tree, chosen, grouping } = modules;
  const by = divisor(report, chosen.averaging);
  const step = stepsLength(report) / by;
  const zoom = grouping === "instance" ? indexOfPath(tree, place.zoom) : null;
  // A group's block is as wide as self times: no scale for the forward, children included.
  const withForward = place.withForward && chosen.quantity !== "forward" && grouping === "instance";
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
        withForward={withForward}
        communication={communicationIn(report, chosen)}
        waits={modules.numbers.some(({ ownLost }) => isHighlighted(ownLost, step))}
        onZoom={(index) => go({ zoom: index === null ? null : (tree.nodes[index]?.path ?? null) })}
      />
      <Icicle
        modules={modules}
        rest={over(restOf(report, chosen), by) ?? 0}
        step={step}
        zoom={zoom}
        withForward={withForward}
        shared={shared}
        onPick={pick}
      />
    </section>
  );
}

/** Collectives in the modules, which no block holds: they are not the modules' work. */
function communicationIn(
  report: ReportData,
  { quantity, clock, averaging }: ChosenQuantity,
): number {
  if (clock === "host") return 0;
  const roots = report.modules.filter(({ parent_id: parent }) => parent === null);
  const all = sumOf(roots.map((root) => workOf(root, quantity)?.communication_us ?? null));
  return (all ?? 0) / divisor(report, averaging);
}

interface BreadcrumbProps {
  modules: Modules;
  /** Time of collectives in modules, microseconds. */
  communication: number;
  zoom: number | null;
  /** Whether the blocks show the forward too. */
  withForward: boolean;
  /** Whether some block is crimson. */
  waits: boolean;
  onZoom: (index: number | null) => void;
}

/** The way from everything down to the subtree that the icicle shows. */
function Breadcrumb(props: BreadcrumbProps): ReactElement {
  const { modules, communication, zoom, withForward, waits, onZoom } = props;
  const chain = zoom === null ? [] : lineage(modules.tree, zoom);
  return (
    <nav
      className={chain.length === 0 ? "breadcrumb hint" : "breadcrumb"}
      aria-label="Subtree shown"
    >
      {chain.length === 0 ? (
        <span className="muted">
          {modules.grouping === "instance"
            ? "Width is total time, depth of colour self time. Click to zoom in."
            : "Width and depth of colour are self time. Click for the rows below."}
        </span>
      ) : (
        <button type="button" className="link" onClick={() => onZoom(null)}>
          all modules
        </button>
      )}
      {chain.length === 0 && communication > 0 && (
        <span className="muted">
          Plus {duration(communication)} of collectives in modules&apos; hooks: see comm.
        </span>
      )}
      {waits && (
        <span className="wait-key">
          <span className="swatch" style={{ background: colourOf("wait") }} aria-hidden="true" />
          the device idles while the host waits in it
        </span>
      )}
      {withForward && (
        <span className="forward-key">
          <span aria-hidden="true" />
          forward, to the same scale
        </span>
      )}
      {chain.map((node, at) => (
        <span key={node.index} className="crumb">
          <span aria-hidden="true">›</span>
          {at === chain.length - 1 ? (
            <Name text={node.label} className="code" />
          ) : (
            <button type="button" className="link" onClick={() => onZoom(node.index)}>
              <Name text={node.label} className="code" />
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}
