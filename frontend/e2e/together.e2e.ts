import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { expect } from "vitest";

import { parameter } from "./canvas";
import { seriousFaults } from "./axe";
import { adding, page, test, visiting } from "./scene";

/** Four ranks under DistributedDataParallel over gloo, rank 2 slow in module `0`. */
adding((logdir) => {
  logdir.addRecorded("ddp", "late_rank.late");
});

visiting("#/ranks?run=ddp&rank=2&rankstep=ProfilerStep%233", () =>
  page.getByRole("complementary", { name: "Rank" }).waitFor(),
);

const picture = (): ReturnType<typeof page.locator> =>
  page.getByRole("region", { name: "Collective on all ranks" });
const rows = (): ReturnType<typeof page.locator> => picture().getByRole("listitem");

async function openLongest(): Promise<void> {
  await page.getByRole("link", { name: "on all ranks" }).first().click();
  await picture().locator("figure[aria-busy=false]").waitFor();
}

test("from a step's cell to a collective on all ranks, the late one and its module marked", async () => {
  await openLongest();
  await expect.poll(() => picture().locator("h2").textContent()).toContain("step 3 on 4 ranks");
  const late = picture().locator("li.late");
  await expect.poll(() => late.textContent()).toMatch(/^rank 2.*came last$/);
  const blocks = late.locator(".together-block.late");
  await expect.poll(() => blocks.first().getAttribute("title")).toBe("host: 0");
  const came = picture().getByRole("img", { name: /Rank \d comes .* and waits 10\d\.\d ms/ });
  await expect.poll(() => came.count()).toBe(3);
  await expect.poll(() => picture().textContent()).toContain("known to within 238.4 us");
  expect(await seriousFaults(page)).toEqual([]);
});

test("what the late rank ran fills the others' wait, all transfer together", async () => {
  await openLongest();
  const edge = async (of: string, rank: number, side: "from" | "to"): Promise<number> => {
    const box = await rows().nth(rank).locator(of).first().boundingBox();
    if (box === null) throw new Error(`no ${of} of rank ${rank}`);
    return side === "from" ? box.x : box.x + box.width;
  };
  const ends = await Promise.all([0, 1, 2, 3].map((rank) => edge(".transfer", rank, "to")));
  const band = await picture().locator(".together-doubt").first().boundingBox();
  expect(Math.max(...ends) - Math.min(...ends)).toBeLessThan(band?.width ?? 0);
  const module = await edge(".together-block.late", 2, "to");
  expect(module).toBeGreaterThan(await edge(".together-block.wait", 0, "from"));
  expect(module).toBeLessThan(Math.max(...ends));
});

test("the address keeps the picture; a rank in it leads to its timeline; it closes", async () => {
  await openLongest();
  expect(parameter(page.url(), "together")).toBe("1");
  await page.reload();
  await picture().getByRole("button", { name: "Close the picture" }).click();
  await expect.poll(() => picture().count()).toBe(0);
  await page.getByRole("link", { name: "Show on all ranks, on one clock" }).click();
  await picture().getByRole("link", { name: "rank 2" }).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  expect(parameter(page.url(), "worker")).toBe("rank2");
});

test("of few ranks the longest wait is shown unasked, until it is closed", async () => {
  await picture().locator("figure[aria-busy=false]").waitFor();
  expect(page.url()).not.toContain("together");
  await picture().getByRole("button", { name: "Close the picture" }).click();
  await page.getByRole("link", { name: "Show the longest wait" }).waitFor();
  expect(await picture().count()).toBe(0);
});

test("the same is a file for Perfetto", async () => {
  await openLongest();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    picture().getByRole("link", { name: "Download for Perfetto" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("collective-2.json.gz");
  const trace = gunzipSync(readFileSync(await download.path())).toString();
  expect(trace).toContain('"clock_spread_us"');
});

test("where the clocks are not known well enough one sentence says so, without a picture", async () => {
  await page.goto(page.url().replace(/#.*/, "#/ranks?run=ddp&collective=25&together=1"));
  const refused = picture().getByText(/cannot be shown on one clock: the ranks waited 158 us/);
  await refused.waitFor();
  expect(await refused.textContent()).toContain("their clocks are known to 238 us only");
  expect(await picture().getByRole("figure").count()).toBe(0);
});

test("fits windows of 1,024 and 1,440 pixels", async () => {
  await openLongest();
  const wide = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
  for (const width of [1024, 1440]) {
    await page.setViewportSize({ width, height: 720 });
    await expect.poll(wide).toBe(width);
  }
});
