// Asks the page's own code about a shared copy: node ask_copy.mjs web-folder copy.html < requests.json > answers.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
const [, , web, file] = process.argv;
const { build } = createRequire(join(web, "package.json"))("esbuild");
const entry = "export * from './copy_source.ts'; export * from './parts.ts';";
const made = await build({
  stdin: { contents: entry, resolveDir: join(web, "src/data/copy"), loader: "ts" },
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
});
const code = Buffer.from(made.outputFiles[0].contents).toString("base64");
const { CopySource, Parts } = await import(`data:text/javascript;base64,${code}`);
const html = readFileSync(file, "utf8");
const text = (id) => new RegExp(`id="${id}">([^<]*)</script>`).exec(html)[1];
const source = new CopySource(new Parts(JSON.parse(text("peephole-copy")), (n) => text(`peephole-part-${n}`)));
const answers = [];
for (const path of JSON.parse(readFileSync(0, "utf8"))) {
  const answer = await source.ask(`captures/it/${path}`, {});
  answers.push([answer.status, Buffer.from(await answer.arrayBuffer()).toString("base64")]);
}
process.stdout.write(JSON.stringify(answers));
