// Builds the page into src/peephole/server/static (or the folder given with --out=).
//
// The page runs under a strict Content-Security-Policy, so everything becomes a file of our own origin: the script, its
// style sheet, the layout worker. Names carry a hash of the content, so that a browser may keep them for ever.
import { build, context } from "esbuild";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const option = (name) => process.argv.find((text) => text.startsWith(`--${name}=`))?.slice(name.length + 3);
const out = option("out") ?? join(web, "..", "src", "peephole", "server", "static");
const pages = (option("pages") ?? "index.html").split(",");
const watch = process.argv.includes("--watch");
const WORKER = "src/layout/layered/worker.ts";

const shared = {
  absWorkingDir: web,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  metafile: true,
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  loader: { ".svg": "file", ".woff2": "file" },
  legalComments: "none",
  logLevel: "warning",
};

/** Address of the file that an entry point became, or null. */
const addressOf = (metafile, entry, ending) => {
  for (const [path, output] of Object.entries(metafile.outputs)) {
    if (output.entryPoint !== entry) continue;
    const file = ending === ".css" && !path.endsWith(".css") ? output.cssBundle : path;
    if (file?.endsWith(ending)) return "/" + relative(out, join(web, file)).replaceAll("\\", "/");
  }
  return null;
};

/** Writes the pages with the addresses of what was built in place of the sources. */
const writePages = (metafile) => {
  for (const page of pages) {
    let html = readFileSync(join(web, page), "utf8");
    html = html.replace(/[ \t]*<script type="module" src="\/([^"]+)"><\/script>\n?/g, (_all, entry) => {
      const css = addressOf(metafile, entry, ".css");
      const link = css === null ? "" : `    <link rel="stylesheet" href="${css}" />\n`;
      return `${link}    <script type="module" src="${addressOf(metafile, entry, ".js")}"></script>\n`;
    });
    writeFileSync(join(out, basename(page)), html);
  }
};

const entries = pages.flatMap((page) =>
  [...readFileSync(join(web, page), "utf8").matchAll(/<script type="module" src="\/([^"]+)">/g)].map(
    (found) => found[1],
  ),
);

mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) rmSync(join(out, name), { recursive: true });
if (existsSync(join(web, "public"))) cpSync(join(web, "public"), out, { recursive: true });

const worker = existsSync(join(web, WORKER)) ? await build({ ...shared, entryPoints: [WORKER] }) : null;
const page = {
  ...shared,
  entryPoints: entries,
  splitting: true,
  define: { LAYOUT_WORKER: JSON.stringify(worker === null ? "" : addressOf(worker.metafile, WORKER, ".js")) },
  plugins: [{ name: "pages", setup: (setup) => setup.onEnd((done) => done.metafile && writePages(done.metafile)) }],
};
// the page as a file of its own: one script and one style sheet that stand in it, no worker (`peephole share`)
const copy = {
  ...shared,
  entryPoints: { shared: "src/shared.ts" },
  format: "iife",
  outdir: join(out, "share"),
  entryNames: "[name]",
  define: { LAYOUT_WORKER: '""' },
  // of the views whose script comes later it has one; the others have no data in such a file
  plugins: [
    {
      name: "problems alone",
      setup: (setup) =>
        setup.onResolve({ filter: /\/later\.ts$/ }, () => ({ path: join(web, "src/views/problems/problems_view.ts") })),
    },
  ],
};
// the page for a notebook's cell, all views of one capture in one script, so none that compares two; and the cell around
// it, a module (`peephole.view`)
const bridged = {
  ...copy,
  entryPoints: { bridged: "src/bridged.ts" },
  plugins: [
    {
      name: "one capture alone",
      setup: (setup) => {
        setup.onResolve({ filter: /\/compare_view\.ts$/ }, () => ({ path: "compare_view", namespace: "absent" }));
        setup.onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: "export const CompareView = null;" }));
      },
    },
  ],
};
const cell = { ...copy, entryPoints: { cell: "src/cell.ts" }, format: "esm", plugins: [] };
if (watch) for (const one of [page, copy, bridged, cell]) await (await context(one)).watch();
else {
  await build(page);
  if (pages.includes("index.html")) for (const one of [copy, bridged, cell]) await build(one);
}
