import { VIEWS } from "../address/place";
import charts from "../components/charts.css?inline";
import controls from "../components/controls.css?inline";
import table from "../components/table/table.css?inline";
import tip from "../components/tip.css?inline";
import band from "../parts/band.css?inline";
import lanes from "../parts/lanes/lanes.css?inline";
import panel from "../parts/panel.css?inline";
import runPicker from "../parts/runPicker.css?inline";
import serverTable from "../parts/serverTable/serverTable.css?inline";
import states from "../parts/states.css?inline";
import syncTimeline from "../parts/syncTimeline.css?inline";
import base from "../theme/base.css?inline";
import { paletteSheet } from "../theme/colours";
import view from "../theme/view.css?inline";
import frame from "./frame.css?inline";
import dryRun from "../views/dryrun/dryrun.css?inline";
import { VIEW_ENTRIES } from "./views";

/** A view's sheet comes after those of what it is made of; a tooltip lies over everything. */
const SHEETS = [
  base,
  frame,
  view,
  table,
  controls,
  lanes,
  panel,
  band,
  runPicker,
  serverTable,
  states,
  syncTimeline,
  charts,
  dryRun,
  ...VIEWS.map((name) => VIEW_ENTRIES[name].style),
  tip,
];

/**
 * Give the document our styles. A constructed sheet needs neither a request nor an inline style
 * element, so a strict content-security policy has nothing against it.
 */
export function adoptStyles(document: Document): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync([paletteSheet(), ...SHEETS].join("\n"));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
