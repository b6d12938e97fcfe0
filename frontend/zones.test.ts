import { join } from "node:path";

import { ESLint } from "eslint";
import tseslint from "typescript-eslint";
import { describe, expect, test } from "vitest";

// Without types: the rules on imports need none, and to load them takes most of the time.
const eslint = new ESLint({
  cwd: import.meta.dirname,
  overrideConfig: tseslint.configs.disableTypeChecked,
});

/** Rules that a line breaks where it stands in a file of the page. */
async function broken(file: string, line: string): Promise<(string | null)[]> {
  const filePath = join(import.meta.dirname, "src", file);
  const results = await eslint.lintText(`${line}\n`, { filePath });
  const messages = results.flatMap((result) => result.messages);
  return [...new Set(messages.filter(({ severity }) => severity === 2).map((m) => m.ruleId))];
}

describe("imports against the direction are errors", { timeout: 60_000 }, () => {
  test.each([
    ["views/syncs/SyncsView.tsx", "../modules/ModulesView"],
    ["views/timeline/chart/chart.ts", "../../compare/rows"],
    ["views/syncs/SyncsView.tsx", "../modules/address"],
    ["views/syncs/SyncsView.tsx", "../../app/App"],
    ["views/syncs/SyncsView.tsx", "../../testing/report"],
    ["views/modules/address.ts", "../../address/place"],
    ["address/place.ts", "../views/modules/quantity"],
    ["parts/Chain.tsx", "../views/syncs/syncTree"],
    ["components/Tip.tsx", "../report/syncs"],
    ["components/table/DataTable.tsx", "../../address/place"],
    ["components/table/DataTable.tsx", "../../api/schema"],
    ["report/syncs.ts", "../parts/services"],
    ["report/syncs.ts", "../address/place"],
    ["text/formats.ts", "../report/measures"],
    ["api/client.ts", "../report/measures"],
    ["theme/colours.ts", "../text/formats"],
  ])("%s imports %s", async (file, path) => {
    expect(await broken(file, `import "${path}";`)).toEqual(["zones/direction"]);
  });

  test("however it is imported", async () => {
    const file = "views/syncs/SyncsView.tsx";
    const path = "../modules/ModulesView";
    expect(await broken(file, `export * from "${path}";`)).toEqual(["zones/direction"]);
    expect(await broken(file, `export { ModulesView } from "${path}";`)).toEqual([
      "zones/direction",
    ]);
    expect(await broken(file, `void import("${path}");`)).toEqual(["zones/direction"]);
  });

  test.each([
    ["text/formats.ts", 'import "react";', "no-restricted-imports"],
    ["report/syncs.ts", 'import "react-dom/client";', "no-restricted-imports"],
    ["report/syncs.ts", "window.focus();", "no-restricted-globals"],
    ["text/formats.ts", "document.title.trim();", "no-restricted-globals"],
  ])("%s: %s", async (file, line, rule) => {
    expect(await broken(file, line)).toContain(rule);
  });
});

test.each([
  ["views/syncs/SyncsView.tsx", "./syncTree"],
  ["views/syncs/SyncsView.tsx", "../../parts/Chain"],
  ["views/modules/ModulesView.tsx", "./address"],
  ["views/modules/panel/work.tsx", "../address"],
  ["address/place.ts", "../views/modules/address"],
  ["report/syncs.test.ts", "../testing/report"],
  ["app/styles.ts", "../views/syncs/syncs.css?inline"],
])("%s may import %s", { timeout: 60_000 }, async (file, path) => {
  expect(await broken(file, `import "${path}";`)).toEqual([]);
});
