/** Raw arrays out of the server's bytes: u32 length, a JSON head padded to eight bytes, then column after column. */

const CUT = "The server's answer was cut off. Try again.";

type Column =
  Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** The columns of an answer, in the order in which they were sent; nothing is copied. */
export interface Arrays<Head> {
  readonly head: Head;
  readonly f64: (length: number) => Float64Array<ArrayBuffer>;
  readonly f32: (length: number) => Float32Array<ArrayBuffer>;
  readonly i32: (length: number) => Int32Array<ArrayBuffer>;
  readonly u32: (length: number) => Uint32Array<ArrayBuffer>;
}

/** Reads an answer of raw arrays; throws one sentence when there is less of it than its head says. */
export function readArrays<Head>(data: ArrayBuffer): Arrays<Head> {
  const size = data.byteLength < 4 ? Infinity : new DataView(data).getUint32(0, true);
  if (4 + size > data.byteLength) throw new Error(CUT);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size))) as Head;
  let at = 4 + size;
  const take = (bytes: number): number => {
    const from = at;
    at += bytes;
    if (at > data.byteLength) throw new Error(CUT);
    return from;
  };
  return {
    head,
    f64: (length) => new Float64Array(data, take(8 * length), length),
    f32: (length) => new Float32Array(data, take(4 * length), length),
    i32: (length) => new Int32Array(data, take(4 * length), length),
    u32: (length) => new Uint32Array(data, take(4 * length), length),
  };
}

/** Columns that hold several lanes one after the other, as columns of each lane. */
export function perLane<C extends Record<string, Column>>(counts: readonly number[], columns: C): C[] {
  let from = 0;
  return counts.map((count) => {
    const to = from + count;
    const cut = Object.entries(columns).map(([name, column]) => [name, column.subarray(from, to)]);
    from = to;
    return Object.fromEntries(cut) as C;
  });
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
