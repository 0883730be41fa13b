/** What passes with a graph after them changed, read context by context when it is asked for. */
import type { PassesWire } from "../wire/capture.ts";
import type { CaptureClient } from "./client.ts";

export interface Pass {
  /** Graphs after the one that went in: matches, and what was changed without a rule. */
  entries: number;
  /** Boxes that came, went or were altered. */
  boxes: number;
  /** "partition", "order" or "metadata" when that is all there is to say; else empty. */
  kind: string;
  graphsIn: number;
  graphsOut: number;
}

export class Passes {
  private readonly known = new Map<number, Pass>();
  private readonly asked = new Map<number, Promise<void>>();

  constructor(
    private readonly client: CaptureClient,
    /** More is known than before. */
    private readonly onArrival: () => void,
  ) {}

  /** What is known about a step; undefined before its context was read, and for a step without a graph after it. */
  of(step: number): Pass | undefined {
    return this.known.get(step);
  }

  /** Reads a context's passes, once. */
  read(context: number): Promise<void> {
    let answer = this.asked.get(context);
    if (answer === undefined) {
      answer = this.client.get<PassesWire>(`contexts/${context}/passes`).then(
        (wire) => this.take(wire),
        () => void this.asked.delete(context),
      );
      this.asked.set(context, answer);
    }
    return answer;
  }

  /** A live capture has grown: what is asked for is read anew. */
  forget(): void {
    this.asked.clear();
  }

  private take(wire: PassesWire): void {
    wire.step.forEach((step, at) =>
      this.known.set(step, {
        entries: wire.entries[at]!,
        boxes: wire.added[at]! + wire.removed[at]! + wire.altered[at]!,
        kind: wire.kind[at]!,
        graphsIn: wire.graphsIn[at]!,
        graphsOut: wire.graphsOut[at]!,
      }),
    );
    this.onArrival();
  }
}

/** What a pass did, in as many words as fit at the right of its row. */
export function passFigure(pass: Pass): string {
  if (pass.graphsIn !== pass.graphsOut) return `${pass.graphsIn} → ${pass.graphsOut}`;
  return pass.kind === "order" || pass.kind === "metadata" ? pass.kind : pass.boxes.toLocaleString("en-US");
}
