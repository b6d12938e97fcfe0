import type { ReactElement } from "react";

import { lineage } from "./moduleTree";
import { Name } from "../../components/Name";
import type { Modules } from "./useModules";

interface BreadcrumbProps {
  modules: Modules;
  zoom: number | null;
  /** Whether the blocks show the forward too. */
  beside: boolean;
  onZoom: (index: number | null) => void;
}

/** The way from everything down to the subtree that the icicle shows. */
export function Breadcrumb({ modules, zoom, beside, onZoom }: BreadcrumbProps): ReactElement {
  const chain = zoom === null ? [] : lineage(modules.tree, zoom);
  return (
    <nav className="breadcrumb" aria-label="Subtree shown">
      {chain.length === 0 ? (
        <span className="muted">
          {modules.grouping === "instance"
            ? "Width is total time, depth of colour own time. Click to zoom in."
            : "Width and depth of colour are own time. Click for the rows below."}
        </span>
      ) : (
        <button
          type="button"
          className="link"
          onClick={() => {
            onZoom(null);
          }}
        >
          all modules
        </button>
      )}
      {beside && (
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
            <button
              type="button"
              className="link"
              onClick={() => {
                onZoom(node.index);
              }}
            >
              <Name text={node.label} className="code" />
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}
