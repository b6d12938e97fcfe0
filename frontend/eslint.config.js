import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

import zones, { PURE } from "./zones.js";

/** What a file without a browser does not have. */
const BROWSER = ["window", "document", "navigator", "location", "history", "localStorage", "fetch"];

export default tseslint.config(
  { ignores: ["node_modules", "test-results"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  reactHooks.configs.flat.recommended,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
      // Concerns the React compiler, which is not used here.
      "react-hooks/incompatible-library": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  { files: ["src/**"], plugins: { zones }, rules: { "zones/direction": "error" } },
  {
    files: PURE.map((folder) => `src/${folder}/**`),
    rules: {
      "no-restricted-imports": ["error", { patterns: ["react", "react-dom", "react*/*"] }],
      "no-restricted-globals": ["error", ...BROWSER],
    },
  },
  {
    files: ["**/*.test.{ts,tsx}", "e2e/**"],
    rules: { "max-lines-per-function": "off" },
  },
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
);
