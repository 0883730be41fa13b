// Prints the interfaces of src/wire as JSON, for the test that holds them against what the server sends
// (tests/server/test_wire.py): { "timeline.SliceWire": { "row": { "type": {"is": "number"}, "optional": false }, … } }.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "wire");
const KEYWORDS = {
  [ts.SyntaxKind.StringKeyword]: "string",
  [ts.SyntaxKind.NumberKeyword]: "number",
  [ts.SyntaxKind.BooleanKeyword]: "boolean",
  [ts.SyntaxKind.UnknownKeyword]: "unknown",
};

/** A type as data; what the test cannot check is an error, so that it is never passed over in silence. */
function typeOf(node, file) {
  if (KEYWORDS[node.kind]) return { is: KEYWORDS[node.kind] };
  if (ts.isArrayTypeNode(node)) return { is: "array", of: typeOf(node.elementType, file) };
  if (ts.isTupleTypeNode(node)) return { is: "tuple", of: node.elements.map((one) => typeOf(one, file)) };
  if (ts.isUnionTypeNode(node)) return { is: "union", of: node.types.map((one) => typeOf(one, file)) };
  if (ts.isParenthesizedTypeNode(node)) return typeOf(node.type, file);
  if (ts.isTypeLiteralNode(node)) return { is: "object", keys: keysOf(node.members, file) };
  if (ts.isLiteralTypeNode(node))
    return node.literal.kind === ts.SyntaxKind.NullKeyword
      ? { is: "null" }
      : { is: "literal", value: JSON.parse(node.literal.getText()) };
  if (ts.isTypeReferenceNode(node)) {
    const name = node.typeName.getText();
    if (name === "Record") return { is: "record", of: typeOf(node.typeArguments[1], file) };
    if (/^(Float|Int|Uint)\d+Array$/.test(name)) return { is: "column" };
    const home = imported[file][name] ?? file;
    const alias = aliases[`${home}.${name}`];
    return alias ? typeOf(alias, home) : { is: "interface", name: `${home}.${name}` };
  }
  throw new Error(`${file}.ts: ${node.getText()} is a type that the test of the wire cannot check`);
}

function keysOf(members, file) {
  return Object.fromEntries(
    members.map((one) => [
      one.name.getText(),
      { type: typeOf(one.type, file), optional: one.questionToken !== undefined },
    ]),
  );
}

const sources = readdirSync(folder)
  .filter((name) => name !== "arrays.ts") // how columns are read; nothing of it is sent
  .map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    return [name.replace(/\.ts$/, ""), ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true).statements];
  });
/** Names that a file has from another one, and the types that stand for others, by their names. */
const imported = {};
const aliases = {};
for (const [file, statements] of sources) {
  imported[file] = {};
  for (const node of statements) {
    if (ts.isTypeAliasDeclaration(node)) aliases[`${file}.${node.name.text}`] = node.type;
    if (!ts.isImportDeclaration(node)) continue;
    const home = node.moduleSpecifier.text.replace(/^\.\/|\.ts$/g, "");
    for (const one of node.importClause.namedBindings.elements) imported[file][one.name.text] = home;
  }
}
const found = {};
for (const [file, statements] of sources) {
  for (const node of statements) {
    if (!ts.isInterfaceDeclaration(node)) continue;
    const parents = (node.heritageClauses ?? []).flatMap((clause) => clause.types.map((one) => one.getText()));
    found[`${file}.${node.name.text}`] = {
      parents: parents.map((parent) => `${imported[file][parent] ?? file}.${parent}`),
      keys: keysOf(node.members, file),
    };
  }
}
for (const one of Object.values(found))
  for (const parent of one.parents) one.keys = { ...found[parent].keys, ...one.keys };
console.log(JSON.stringify(Object.fromEntries(Object.entries(found).map(([name, one]) => [name, one.keys]))));
