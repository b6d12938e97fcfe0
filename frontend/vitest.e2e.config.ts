import { defineConfig } from "vitest/config";

// One browser and one server at a time: the machine that runs these may have two cores.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
