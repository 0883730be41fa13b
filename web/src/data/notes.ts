/** The notes of the capture on the screen: one book for everything that lists, marks or changes them. */
import type { NotesWire, NoteWire } from "../wire/notes.ts";
import type { CaptureClient } from "./client.ts";

/** What a note can be pinned to: its kind, the words for it, and the numbers that the server wants. */
export interface Pin {
  kind: "slice" | "range" | "match" | "node";
  label: string;
  numbers: Record<string, number>;
}

type Params = Readonly<Record<string, string>>;

/** Parameters that say whether what a note is pinned to is the thing that is chosen. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  slice: ["slice"],
  range: ["r0", "r1"],
  match: ["step", "match"],
  node: ["step", "node"],
};

class Notebook {
  notes: readonly NoteWire[] = [];
  /** Why no note can be written, else empty. */
  reason = "";
  private client: CaptureClient | null = null;
  private readonly listeners = new Set<() => void>();

  /** Reads the notes of a capture; without one the book is empty. */
  async open(client: CaptureClient | null): Promise<void> {
    this.client = client;
    this.take({ notes: [], reason: client ? "The notes are being read." : "" });
    if (client === null) return;
    const found = await client.get<NotesWire>("notes");
    if (this.client === client) this.take(found);
  }

  async add(pin: Pin, text: string): Promise<void> {
    await this.send("POST", "notes", { kind: pin.kind, text, ...pin.numbers });
  }

  async change(id: string, text: string): Promise<void> {
    await this.send("PUT", `notes/${encodeURIComponent(id)}`, { text });
  }

  async remove(id: string): Promise<void> {
    await this.send("DELETE", `notes/${encodeURIComponent(id)}`, {});
  }

  /** Notes on what an address has chosen. */
  at(view: string, address: Params): NoteWire[] {
    const params = withOwnNode(address);
    const value = (from: Params, key: string): string => from[key] ?? (key === "match" ? "0" : "");
    return this.notes.filter(
      (note) =>
        note.view === view &&
        KEYS[note.kind]!.every((key) => value(note.params, key) === value(params, key)) &&
        // a note on a match is about the match, not about a node that is chosen in it
        (note.kind !== "match" || params["node"] === undefined),
    );
  }

  /** Whether a match of a step has a note. */
  onMatch(step: number, match: number): boolean {
    const [a, b] = [String(step), String(match)];
    return this.notes.some(({ kind, params }) => kind === "match" && params["step"] === a && params["match"] === b);
  }

  /** Nodes of a step that have a note, by identity. */
  nodesOf(step: number): ReadonlySet<number> {
    const own = this.notes.filter((note) => note.kind === "node" && note.params["step"] === String(step));
    return new Set(own.map((note) => Number(note.params["node"])));
  }

  onChange(listener: () => void, signal?: AbortSignal): () => void {
    this.listeners.add(listener);
    const stop = (): void => void this.listeners.delete(listener);
    signal?.addEventListener("abort", stop, { once: true });
    return stop;
  }

  private async send(method: string, path: string, body: object): Promise<void> {
    const { client } = this;
    if (client === null) return;
    const found = await client.send<NotesWire>(method, path, body);
    if (this.client === client) this.take(found);
  }

  private take(found: NotesWire): void {
    this.notes = found.notes;
    this.reason = found.reason;
    for (const listener of [...this.listeners]) listener();
  }
}

export const notebook = new Notebook();

/** What is chosen at an address and can have a note: the innermost first. */
export function pinsAt(view: string, address: Params): Pin[] {
  const params = withOwnNode(address);
  const number = (key: string): number | null => {
    const text = params[key];
    return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : null;
  };
  const pins: Pin[] = [];
  if (view === "timeline") {
    const [row, start, end] = [number("slice"), number("r0"), number("r1")];
    if (row !== null) pins.push({ kind: "slice", label: "this slice", numbers: { row } });
    if (start !== null && end !== null) pins.push({ kind: "range", label: "this range", numbers: { start, end } });
  }
  const step = number("step");
  if (view === "rewrites" && step !== null) {
    const match = number("match") ?? 0;
    const node = number("node");
    if (node !== null) pins.push({ kind: "node", label: "this node", numbers: { step, match, node } });
    const label = match === 0 ? "this pass" : `match ${match}`;
    pins.push({ kind: "match", label, numbers: { step, match } });
  }
  return pins;
}

/** Of several selected nodes the current one counts; one of another pass is none of the step that is shown. */
function withOwnNode(params: Params): Params {
  const { node, held, ...others } = params;
  return node === undefined || held !== undefined ? others : { ...others, node: node.split("~")[0]! };
}
