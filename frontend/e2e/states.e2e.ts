import { readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { beforeEach, expect, onTestFinished } from "vitest";

import { row, runButton } from "./browser";
import { logdir, page, serving, test, url, visit } from "./scene";
import { serve } from "./server";
import { makeLogDir } from "./traces";

serving((logdir) => {
  logdir.addReal("tiny");
});

// Each test says itself what the log directory holds.
beforeEach(() => {
  for (const name of readdirSync(logdir.path)) rmSync(join(logdir.path, name), { recursive: true });
});

test("a run folder that is emptied while it is served says what to do", async () => {
  logdir.addReal("tiny");
  rmSync(join(logdir.path, "tiny"), { recursive: true });
  await visit("#/modules");
  await page.getByRole("heading", { name: "No traces yet" }).waitFor();
  const text = await page.locator(".state").innerText();
  expect(text).toContain(logdir.path);
  expect(text).toContain("model = hookview.wrap(model)");
  expect(text).toContain("tensorboard --logdir runs");
  logdir.addReal("later");
  await page.getByRole("button", { name: "Look again" }).click();
  await row(page, "blocks").waitFor();
});

test("what is not listed is counted", async () => {
  const elsewhere = makeLogDir();
  onTestFinished(elsewhere.remove);
  elsewhere.addReal("tiny");
  symlinkSync(join(elsewhere.path, "tiny"), join(logdir.path, "linked"));
  await visit("#/modules");
  const note = page.getByText("Not listed: 1 link out of the log directory.");
  await note.waitFor();
  logdir.addReal("own");
  await page.getByRole("button", { name: "Look again" }).click();
  await row(page, "blocks").waitFor();
  await note.waitFor();
});

test("a broken file is named with the reason, and can be tried again", async () => {
  logdir.addFile("run/broken.1.pt.trace.json", '{"traceEvents": [{"ph": "X", ');
  await visit("#/modules");
  const card = page.getByRole("alert");
  await card.getByRole("heading", { name: "This file cannot be read as a trace" }).waitFor();
  expect(await card.innerText()).toContain("broken.1.pt.trace.json");
  logdir.addFile("run/broken.1.pt.trace.json", '{"traceEvents": []}');
  await card.getByRole("button", { name: "Try again" }).click();
  await page.locator(".figures").waitFor();
  await page.getByRole("heading", { name: "This trace names no modules" }).waitFor();
});

test("an address to a run that is not there offers those that are", async () => {
  logdir.addReal("tiny");
  await visit("#/modules?run=gone");
  await page.getByRole("heading", { name: "There is no run gone" }).waitFor();
  await page.getByRole("button", { name: "tiny" }).click();
  await row(page, "blocks").waitFor();
});

test("a server that has gone away is said to be away", async () => {
  logdir.addReal("tiny");
  const server = await serve(logdir.path);
  await visit(`${server.url}#/modules`);
  await row(page, "blocks").waitFor();
  await server.stop();
  await page.getByLabel("steps").selectOption("step:ProfilerStep#3");
  await page.getByRole("heading", { name: "No answer from the server" }).waitFor();
});

test("the run looked at last is shown again", async () => {
  logdir.addReal("one");
  logdir.addReal("two");
  await visit("#/modules?run=one");
  await row(page, "blocks").waitFor();
  await page.goto("about:blank");
  await page.goto(`${url}#/modules`);
  await row(page, "blocks").waitFor();
  await expect.poll(() => runButton(page).textContent()).toContain("one");
});

test("a refresh stays where one is, and leads to what is new", async () => {
  logdir.addDevice("vit", [{ path: "", className: "Net" }]);
  await visit("#/modules?q=e&module=");
  await page.getByRole("complementary", { name: "Module" }).waitFor();
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText("nothing new").waitFor();
  logdir.addReal("later");
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText("1 new trace", { exact: true }).waitFor();
  expect(await runButton(page).textContent()).toContain("vit");
  expect(await page.getByRole("searchbox").inputValue()).toBe("e");
  await page.getByRole("complementary", { name: "Module" }).waitFor();
  await page.getByRole("button", { name: "Show the newest" }).click();
  await row(page, "blocks").waitFor();
  expect(await runButton(page).textContent()).toContain("later");
});

test("a trace that was written again is loaded again by a refresh, at the same place", async () => {
  logdir.addDevice("vit", [{ path: "head", className: "Linear" }]);
  await visit("#/modules?run=vit&module=head");
  await row(page, "head").waitFor();
  logdir.addDevice("vit", [
    { path: "head", className: "Linear" },
    { path: "neck", className: "Linear" },
  ]);
  await page.getByRole("button", { name: "Refresh" }).click();
  await row(page, "neck").waitFor();
  await page.getByRole("complementary", { name: "Module" }).waitFor();
});

test("a reading can be stopped, and begun again", async () => {
  logdir.addReal("tiny");
  await visit("api/runs");
  await page.route("**/api/report?*", () => undefined);
  await page.goto(`${url}#/modules`);
  await page.getByRole("heading", { name: "Reading the trace" }).waitFor();
  await page.getByText("waiting for the reader").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("heading", { name: "The reading was stopped" }).waitFor();
  await page.unroute("**/api/report?*");
  await page.getByRole("button", { name: "Read the trace" }).click();
  await row(page, "blocks").waitFor();
});

test("a step that the trace does not have is no dead end", async () => {
  logdir.addReal("tiny");
  await visit("#/modules?run=tiny&step=ProfilerStep%2399");
  await page.getByText("ProfilerStep#99").waitFor();
  await page.getByRole("button", { name: "Show all steps" }).click();
  await row(page, "blocks").waitFor();
});

test("back and forward lead through the views, and the title names each", async () => {
  logdir.addReal("tiny");
  await visit("#/modules?run=tiny");
  const current = page.locator(".navigation .current span").first();
  const title = async (): Promise<string> => (await page.title()).replace(/[\u2068\u2069]/g, "");
  await row(page, "blocks").waitFor();
  const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
  const views = await links.locator("span:first-child").allTextContents();
  const visited: string[] = [];
  for (const view of ["Modules", ...views.filter((name) => name !== "Modules")]) {
    await links.filter({ hasText: view }).click();
    await expect.poll(() => current.textContent()).toBe(view);
    await expect.poll(title).toBe(`${view} · tiny · HookView`);
    visited.push(view);
  }
  for (const view of visited.slice(0, -1).reverse()) {
    await page.goBack();
    await expect.poll(() => current.textContent()).toBe(view);
  }
  for (const view of visited.slice(1)) {
    await page.goForward();
    await expect.poll(() => current.textContent()).toBe(view);
  }
});
