/**
 * The parts of a page that is a file of its own: gzip in base64, each in a script element that nothing runs.
 *
 *   manifest  JSON, read at once: what the copy is, which parts there are
 *   part      either replies (a head with paths, then their bodies) or a table (a head with columns, then their bytes)
 */
import type { SharedCopy } from "../source.ts";

export interface CopyManifest {
  copy: SharedCopy;
  /** Number of the element that holds a part; several may lie in one. */
  parts: Record<string, number>;
}

/** Opens parts, each once. */
export class Parts {
  private readonly opened = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();

  constructor(
    readonly manifest: CopyManifest,
    private readonly textOf: (number: number) => string,
  ) {}

  has(name: string): boolean {
    return this.manifest.parts[name] !== undefined;
  }

  open(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const number = this.manifest.parts[name]!;
    let part = this.opened.get(number);
    if (!part) {
      part = unpacked(this.textOf(number));
      this.opened.set(number, part);
    }
    return part;
  }
}

/** The parts of this very page; null when it has none and a server is to be asked. */
export function partsOfPage(): Parts | null {
  const head = document.getElementById("peephole-copy");
  if (head === null) return null;
  const manifest = JSON.parse(head.textContent) as CopyManifest;
  // the page will fill the document anew: hold what is in it now
  const elements = new Map([...document.querySelectorAll('script[type="application/octet-stream"]')].entries());
  return new Parts(manifest, (number) => {
    const text = elements.get(number)!.textContent;
    elements.delete(number); // megabytes that nobody needs twice
    return text;
  });
}

async function unpacked(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = fromBase64(base64);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (native.fromBase64) return native.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/** JSON of a head and where what follows it begins. */
export function headOf<Head>(part: Uint8Array): { head: Head; at: number } {
  const size = new DataView(part.buffer, part.byteOffset).getUint32(0, true);
  return { head: JSON.parse(new TextDecoder().decode(part.subarray(4, 4 + size))) as Head, at: 4 + size };
}
