import { expect, test } from "vitest";

import { entriesOf } from "./Help";

test("a row of a table is a term and its meaning, without markup", () => {
  const markdown = [
    "# Glossary",
    "| term | meaning | on the page |",
    "| --- | --- | --- |",
    "| step | one `prof.step()`, see [x](y.md) | step |",
  ].join("\n");
  expect(entriesOf(markdown)).toEqual([{ term: "step", meaning: "one prof.step(), see x" }]);
});
