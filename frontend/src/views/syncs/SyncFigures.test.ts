import { expect, test } from "vitest";

import { report } from "../../testing/report";
import { otherStalls, whyNoSyncs } from "./SyncFigures";

test("allocations are summed; idle time that none of them knows is not 0", () => {
  const { totals } = report();
  const some = { id: 1, api: "cudaFree", count: 2, blocked_us: 5, waited_us: 0 };
  const row = { ...some, device_idle_us: null };
  const sum = otherStalls({
    totals: { ...totals, device_wait_count: 3, queue_full_count: null },
    allocations: [row, { ...row, api: "cudaMalloc", device_idle_us: 4 }],
  });
  expect(sum).toMatchObject({ deviceWaits: 3, queueFull: null, calls: 4, blocked: 10, idle: 4 });
  expect(otherStalls({ totals, allocations: [row] }).idle).toBeNull();
  expect(otherStalls({ totals, allocations: [] })).toMatchObject({ calls: 0, idle: null });
});

test("without device events there is nothing to wait for", () => {
  const { totals } = report();
  const why = (busy: Record<string, number>): string =>
    whyNoSyncs({ totals: { ...totals, device_busy_us: busy } });
  expect(why({ 0: 5 })).toContain("never syncs");
  expect(why({ 0: 0 })).toContain("no device events");
  expect(why({})).toContain("no device events");
  expect(whyNoSyncs({ totals: { ...totals, sync_count: null } })).toContain("unknown");
});
