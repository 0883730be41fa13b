import { defineConfig } from "vite";

// The page runs under a strict Content-Security-Policy: everything is a file of our own origin, so nothing may be
// inlined as a data: address, and the layout worker is a module file beside the others.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/peephole/server/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  worker: { format: "es" },
  server: {
    // `npm run dev` beside a running `peephole serve`
    proxy: { "/api": { target: process.env["PEEPHOLE_SERVER"] ?? "http://127.0.0.1:8000", changeOrigin: true } },
  },
});
