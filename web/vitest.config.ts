import { defineConfig } from "vitest/config";

// Apart from vite.config.ts, so that building the page needs Vite alone (npm ci --omit=dev).
export default defineConfig({ test: { include: ["tests/**/*.test.ts"], environment: "node" } });
