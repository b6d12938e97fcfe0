import { defineConfig } from "vitest/config";

// One set of modules per thread: no test leaves anything behind in them (try --sequence.shuffle).
export default defineConfig({
  test: {
    include: ["src/**/*.test.{ts,tsx}", "*.test.ts"],
    pool: "threads",
    isolate: false,
  },
});
