import { defineConfig } from "vitest/config";

// Two browsers and servers at a time: the machine that runs these may have two cores.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    maxWorkers: 2,
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
