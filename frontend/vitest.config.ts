import { defineConfig } from "vitest/config";

// One set of modules per thread: no test leaves anything behind in them (try --sequence.shuffle).
export default defineConfig({
  test: {
    // A limit is for what never comes: on a busy machine everything comes late.
    testTimeout: 60_000,
    include: ["src/**/*.test.{ts,tsx}", "*.test.ts"],
    pool: "threads",
    isolate: false,
  },
});
