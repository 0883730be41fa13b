// Fails when a module of the page imports from a room that stands to its right.
//
//   base -> wire -> data -> layout -> draw | state -> views -> (main.ts)
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOMS = { base: 0, wire: 1, data: 2, layout: 3, draw: 4, state: 4, views: 5 };
const OUTSIDE = 6; // files directly in src/: they put the page together
const src = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

const files = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : path.endsWith(".ts") ? [path] : [];
  });
const roomOf = (path) => {
  const parts = relative(src, path).split(sep);
  return parts.length > 1 ? parts[0] : "";
};
const place = (room) => (room === "" ? OUTSIDE : ROOMS[room]);

const problems = [];
for (const file of files(src)) {
  const room = roomOf(file);
  const where = relative(src, file);
  if (place(room) === undefined) problems.push(`${where}: "${room}" is not a room`);
  const text = readFileSync(file, "utf8");
  const pattern = /(?:from\s+|import\s+|import\(\s*|new URL\(\s*)["'](\.{1,2}\/[^"']+)["']/g;
  for (const [, target] of text.matchAll(pattern)) {
    const other = roomOf(resolve(dirname(file), target));
    if (target.endsWith(".css") || other === room) continue;
    if (!(place(other) < place(room)))
      problems.push(`${where} (${room || "src"}) imports ${target} (${other || "src"})`);
  }
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  console.error(
    `${problems.length} imports against the direction base -> wire -> data -> layout -> draw/state -> views`,
  );
  process.exit(1);
}
