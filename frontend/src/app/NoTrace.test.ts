import { expect, test } from "vitest";

import { leftOut } from "./NoTrace";

const listed = (links: number, folders: number): string | null =>
  leftOut({ logdir: "runs", version: "1", runs: [], left_out: { links, folders }, dry_run: null });

test("nothing is said where all is listed", () => {
  expect(listed(0, 0)).toBeNull();
});

test("links and folders are counted", () => {
  expect(listed(1, 0)).toBe("Not listed: 1 link out of the log directory.");
  expect(listed(0, 2)).toBe("Not listed: 2 folders that cannot be read.");
  expect(listed(2, 1)).toBe(
    "Not listed: 2 links out of the log directory, 1 folder that cannot be read.",
  );
});
