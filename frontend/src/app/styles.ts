import base from "../theme/base.css?inline";
import charts from "../components/charts.css?inline";
import controls from "../components/controls.css?inline";
import compare from "../views/compare/compare.css?inline";
import findings from "../views/findings/findings.css?inline";
import frame from "./frame.css?inline";
import syncTimeline from "../parts/syncTimeline.css?inline";
import modules from "../views/modules/modules.css?inline";
import panel from "../parts/panel.css?inline";
import states from "../parts/states.css?inline";
import summary from "../views/summary/summary.css?inline";
import syncs from "../views/syncs/syncs.css?inline";
import table from "../components/table/table.css?inline";
import timeline from "../views/timeline/timeline.css?inline";
import tip from "../components/tip.css?inline";
import view from "../theme/view.css?inline";
import { paletteSheet } from "../theme/colours";

/**
 * Give the document our styles. A constructed sheet needs neither a request nor an inline style
 * element, so a strict content-security policy has nothing against it.
 */
export function adoptStyles(document: Document): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(
    [
      paletteSheet(),
      base,
      frame,
      view,
      table,
      controls,
      modules,
      panel,
      states,
      syncTimeline,
      syncs,
      findings,
      charts,
      compare,
      summary,
      timeline,
      tip,
    ].join("\n"),
  );
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
