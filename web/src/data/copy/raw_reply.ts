/** Raw arrays as the server sends them (`server/arrays.py`): u32 length of the head, the head, then column after column. */

type Kind = "f64" | "f32" | "u32" | "i32";
const KINDS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array };

/** The answer; columns of 8 bytes an item come before those of 4. */
export function rawReply(head: object, columns: readonly (readonly [Kind, ArrayLike<number>])[]): Response {
  const text = new TextEncoder().encode(JSON.stringify(head));
  // padded with blanks, so that the columns begin where typed arrays may begin
  const letters = new Uint8Array(text.length + ((8 - ((4 + text.length) % 8)) % 8)).fill(32);
  letters.set(text);
  const bytes = columns.reduce((sum, [kind, values]) => sum + KINDS[kind].BYTES_PER_ELEMENT * values.length, 0);
  const data = new ArrayBuffer(4 + letters.length + bytes);
  new DataView(data).setUint32(0, letters.length, true);
  new Uint8Array(data).set(letters, 4);
  let at = 4 + letters.length;
  for (const [kind, values] of columns) {
    const column = new KINDS[kind](data, at, values.length);
    column.set(values);
    at += column.byteLength;
  }
  return new Response(data);
}

/** The answer as JSON. */
export function jsonReply(data: object, status = 200): Response {
  return new Response(JSON.stringify(data), { status });
}

/** A sentence for the user, as the server refuses. */
export class Refused extends Error {
  constructor(
    sentence: string,
    readonly status = 404,
  ) {
    super(sentence);
  }
}
