/**
 * The direction of imports: which folders of src/ a folder may import. Its own files it always may.
 * This table is the only one; `npm run check` reports what points another way, and
 * zones.test.ts proves that it does.
 */

import { readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

const SOURCE = join(import.meta.dirname, "src");

/** What stands below every view. */
const BELOW_VIEWS = ["api", "report", "text", "address", "theme", "components", "parts"];

/** `address` is made up of what each view says of itself in an address. */
const VIEW_ADDRESSES = "views/*/address";

const MAY_IMPORT = {
  text: [],
  theme: [],
  api: [],
  report: ["api", "text"],
  [VIEW_ADDRESSES]: ["text"],
  address: ["api", "report", "text", VIEW_ADDRESSES],
  components: ["text", "theme"],
  parts: ["api", "report", "text", "address", "theme", "components"],
  ...Object.fromEntries(
    readdirSync(join(SOURCE, "views")).map((view) => [`views/${view}`, BELOW_VIEWS]),
  ),
  app: [...BELOW_VIEWS, "views"],
  main: [...BELOW_VIEWS, "app"],
  testing: [...BELOW_VIEWS, "views"],
};

/** Folders that compute: the same in a worker, on a server or in a test. */
export const PURE = ["text", "report"];

/** The path in src/, with slashes, of a file; null outside of it. */
function pathIn(file) {
  const path = relative(SOURCE, file).split(sep).join("/");
  return path.startsWith("..") ? null : path.replace(/\.(tsx?|css)(\?.*)?$/, "");
}

/** Which row of the table a path belongs to. */
function zoneOf(path) {
  const [folder, view] = path.split("/");
  if (/^views\/[^/]+\/address$/.test(path)) return VIEW_ADDRESSES;
  if (folder === "views") return `views/${view}`;
  return folder;
}

function allowed(from, to) {
  const own = zoneOf(from);
  const other = zoneOf(to);
  const row = MAY_IMPORT[own];
  if (row === undefined) return false;
  if (own === other || row.includes(other) || row.includes(other.split("/")[0])) return true;
  // A view's address is a file of its view.
  return other === VIEW_ADDRESSES && own === to.split("/").slice(0, 2).join("/");
}

function check(context, node) {
  const { source } = node;
  if (typeof source?.value !== "string" || !source.value.startsWith(".")) return;
  const from = pathIn(context.filename);
  const to = pathIn(join(dirname(context.filename), source.value));
  if (from === null || to === null || allowed(from, to)) return;
  // Tests may use what is made for tests.
  if (from.endsWith(".test") && zoneOf(to) === "testing") return;
  context.report({
    node: source,
    message: `${zoneOf(from)} may not import ${zoneOf(to)} (see zones.js)`,
  });
}

/** ESLint's rule `zones/direction`. */
export default {
  rules: {
    direction: {
      create: (context) => {
        const visit = (node) => {
          check(context, node);
        };
        return {
          ImportDeclaration: visit,
          ImportExpression: visit,
          ExportNamedDeclaration: visit,
          ExportAllDeclaration: visit,
        };
      },
    },
  },
};
