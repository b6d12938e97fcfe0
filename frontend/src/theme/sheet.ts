import base from "./base.css?inline";
import charts from "./charts.css?inline";
import compare from "./compare.css?inline";
import findings from "./findings.css?inline";
import frame from "./frame.css?inline";
import moment from "./moment.css?inline";
import modules from "./modules.css?inline";
import panel from "./panel.css?inline";
import states from "./states.css?inline";
import summary from "./summary.css?inline";
import syncs from "./syncs.css?inline";
import table from "./table.css?inline";
import timeline from "./timeline.css?inline";
import tip from "./tip.css?inline";
import view from "./view.css?inline";
import { paletteSheet } from "./colours";

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
      modules,
      panel,
      states,
      moment,
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
