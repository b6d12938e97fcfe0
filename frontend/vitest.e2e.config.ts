import { defineConfig } from "vitest/config";

// Two workers, each with a browser: the machine that runs these may have two cores.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    globalSetup: "e2e/shared.ts",
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    // A limit is for what never comes: on a busy machine everything comes late.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // A failure shows all of a list in its first line.
    chaiConfig: { truncateThreshold: 0 },
  },
});
