import { defineConfig } from "vitest/config";

// Two workers, each with a browser: the machine that runs these may have two cores.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    globalSetup: "e2e/shared.ts",
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    expect: { poll: { timeout: 20_000 } },
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
