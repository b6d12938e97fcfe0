import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { page, test, url, visiting } from "./scene";

visiting("#/operators?run=device", () => rows().first().waitFor());

const rows = (): ReturnType<typeof page.locator> => page.locator(".table-body [role=row]");

interface Table {
  total: number;
  rows: { id: number; name: string }[];
}

const table = async (name: string, query = ""): Promise<Table> => {
  const answer = await fetch(`${url}api/table/${name}?run=device&worker=gpu0${query}`);
  return (await answer.json()) as Table;
};

test("the table says what the server says, in its order", async () => {
  const { rows: wanted } = await table("operators", "&sort=-self_device_us&limit=50");
  const names = await rows().locator("[role=gridcell]:first-child").allTextContents();
  expect(names).toEqual(wanted.slice(0, names.length).map(({ name }) => name));
});

test("a grouping is in the address, and its table is shown", async () => {
  await page.getByRole("button", { name: "Input shapes" }).click();
  await expect.poll(() => page.url()).toContain("operators=shape");
  await page.getByRole("columnheader", { name: /input shapes/ }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test("operators by call stack are an icicle of Python lines", async () => {
  await page.goto(`${url}#/operators?run=tiny&operators=stack`);
  await page.locator(".stack-bar").first().click();
  await page.getByText("callers above").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "all stacks" }).click();
  await page.getByText("callers above").waitFor({ state: "detached" });
});

test("a search is asked of the server", async () => {
  const [first] = (await table("operators", "&sort=-self_device_us")).rows;
  await page.getByRole("searchbox").fill(first?.name ?? "");
  await page.getByText(/\d+ found/).waitFor();
  await expect.poll(() => rows().count()).toBeLessThan((await table("operators")).total);
});

test("a row leads to its calls in the timeline", async () => {
  await rows().first().click();
  const panel = page.getByRole("complementary", { name: "Operator" });
  await panel.locator(".calls a").first().click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  expect(page.url()).toContain("event=");
});
