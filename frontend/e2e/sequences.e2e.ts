import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { adding, page, test, visiting } from "./scene";

const TURNS = 8;

/** A product and two small kernels over and over, in two steps, each launched by an operator. */
function loop(): string {
  const events: unknown[] = [];
  const add = (cat: string, name: string, ts: number, dur: number, args: object = {}): void => {
    const place = cat === "kernel" ? { pid: 0, tid: 7 } : { pid: 100, tid: 1 };
    events.push({ ph: "X", cat, name, ts, dur, ...place, args });
  };
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [number, name] of ["volta_sgemm", "elementwise_add", "elementwise_mul"].entries()) {
      const [at, correlation] = [1000 + 90 * turn + 30 * number, 3 * turn + number + 1];
      add("cpu_op", "aten::op", at, 20);
      add("cuda_runtime", "cudaLaunchKernel", at + 10, 5, { correlation });
      add("kernel", name, at + 30, 10 + number, { correlation, device: 0, stream: 7 });
    }
  }
  add("user_annotation", "ProfilerStep#1", 1000, 45 * TURNS);
  add("user_annotation", "ProfilerStep#2", 1000 + 45 * TURNS, 45 * TURNS);
  return JSON.stringify({ traceEvents: events });
}

adding((into) => {
  into.addFile("loop/w.1.pt.trace.json", loop());
});

const rows = (): ReturnType<typeof page.locator> => page.locator(".table-body [role=row]");

visiting("#/kernels?run=loop&kernels=sequence", () => rows().first().waitFor());

test("a sequence says how often it comes and what fusing it gains at most", async () => {
  await page.getByRole("columnheader", { name: /^gain at most/ }).waitFor();
  await expect.poll(() => rows().count()).toBe(1);
  await expect.poll(() => rows().first().textContent()).toContain(String(TURNS));
  const times = async (): Promise<number> =>
    ((await rows().first().textContent()) ?? "").split(/\d [um]s/).length - 1;
  await expect.poll(times, { message: "total, removable, and the gain that comes later" }).toBe(3);
  expect(await seriousFaults(page)).toEqual([]);
});

test("a sequence lists its kernels and leads to where it comes first", async () => {
  await rows().first().click();
  const panel = page.getByRole("complementary", { name: "Kernel" });
  await expect
    .poll(() => panel.locator(".stack li").allTextContents())
    .toEqual(["elementwise_add", "elementwise_mul"]);
  await panel.getByText(/a bound, not a promise/).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await panel.getByRole("link").last().click();
  await expect.poll(() => page.url()).toContain("#/timeline");
});
