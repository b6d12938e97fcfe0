import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The entry keeps its name and its export: TensorBoard imports index.js and calls render().
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    target: "es2022",
    outDir: "../tb_hookview/static",
    emptyOutDir: true,
    modulePreload: false,
    license: { fileName: "assets/licenses.md" },
    rolldownOptions: {
      input: { index: "src/main.tsx" },
      preserveEntrySignatures: "strict",
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
});
