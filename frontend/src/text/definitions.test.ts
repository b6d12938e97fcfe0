import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { written } from "./formats";
import { defineField, ofTrace, type Definition } from "./definitions";

const DOCUMENT = join(import.meta.dirname, "../../../docs/reference/definitions.md");
const HEADING = "## On the page";
const INTRODUCTION =
  "The words of the page's tables and figures, as their tooltips say them. Written from " +
  "`frontend/src/`\nby `npm run definitions`; change them there.";

type Group = Readonly<Record<string, Definition>>;

const modules = import.meta.glob<Record<string, unknown>>(["../**/*.ts", "!../**/*.test.ts"], {
  eager: true,
});
const groups = Object.entries(modules)
  .flatMap(([, module]) => Object.entries(module))
  .filter((entry): entry is [string, Group] => entry[0].endsWith("_DEFINITIONS"))
  .sort(([one], [other]) => (one < other ? -1 : 1));

/** SYNC_FIGURE_DEFINITIONS is headed "Sync figure". */
function headingOf(name: string): string {
  const words = name
    .replace(/_DEFINITIONS$/, "")
    .replaceAll("_", " ")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function section([name, group]: [string, Group]): string {
  const rows = Object.values(group).map(({ title, text }) => `| ${title} | ${text} |`);
  const unique = [...new Set(rows)];
  return [`### ${headingOf(name)}`, "", "| word | meaning |", "| --- | --- |", ...unique].join(
    "\n",
  );
}

test("docs/reference/definitions.md says what the tooltips say", async () => {
  const [before = ""] = readFileSync(DOCUMENT, "utf8").split(`${HEADING}\n`);
  const expected = [HEADING, INTRODUCTION, ...groups.map(section)].join("\n\n");
  await expect(`${before.trimEnd()}\n\n${expected}\n`).toMatchFileSnapshot(DOCUMENT);
});

const all = groups.flatMap(([name, group]) =>
  Object.entries(group).map(([key, definition]) => ({ at: `${name}.${key}`, ...definition })),
);

test.each(all)("$at is a sentence", ({ title, text, unit }) => {
  expect(title).not.toMatch(/[|\n]/);
  expect(text).toMatch(/^[A-Z0-9"'].*[^ ]\.$/);
  expect(text).not.toMatch(/[|\n]/);
  if (unit !== undefined) expect(written(1, unit)).toMatch(/^\d/);
});

test("a definition of the server's begins with a capital, without marks of Markdown", () => {
  const field = { text: "`high` from 5%.", unit: "us" } as const;
  expect(defineField("severity", field)).toEqual({
    title: "severity",
    text: "High from 5%.",
    unit: "us",
  });
});

/** Shown where steps are marked, or about traces that mark none. */
const OF_STEPS = [
  "FINDING_DEFINITIONS.severity",
  "SLACK_DEFINITIONS.slack",
  "SUMMARY_TABLE_DEFINITIONS.recording",
  "SYNC_FIGURE_DEFINITIONS.perStep",
  "WHATIF_DEFINITIONS.steps",
];

test.each(
  all.filter(
    ({ at }) =>
      /^(COMPARE|FIGURE|FINDING|SUMMARY|SYNC|TOP_KERNEL|WHATIF|SLACK|MODULE_)/.test(at) &&
      !OF_STEPS.includes(at),
  ),
)("$at is of the trace where that marks no steps", ({ title, text }) => {
  expect(ofTrace(`${title}: ${text}`).replaceAll("number of steps", "")).not.toMatch(/\bsteps?\b/);
});

test("words of means are those of a sum", () => {
  expect(
    [
      "saving/step",
      "critical path per step",
      "Mean length of the measured steps, on the host's clock.",
      "How much shorter a step is",
      "Steps",
      "A step takes",
    ].map(ofTrace),
  ).toEqual([
    "saving",
    "critical path in this trace",
    "Length of the trace, on the host's clock.",
    "How much shorter the trace is",
    "Trace",
    "The trace takes",
  ]);
});
