import { expect, test } from "vitest";

import { define } from "../text/definitions";
import { wordsOf } from "./Help";

test("a word with two meanings has both, and one said twice has it once", () => {
  const words = wordsOf([
    define("class", "One."),
    define("calls", "How often."),
    define("class", "Another."),
    define("class", "One."),
  ]);
  expect([...words]).toEqual([
    ["class", ["One.", "Another."]],
    ["calls", ["How often."]],
  ]);
});
