/** Where answers come from: a server, or the file that the page itself is. Who asks does not know which. */

/** What is inside a copy that somebody sent, or what was left out of it. */
export interface CopyPart {
  what: string;
  /** Bytes that it takes, or would have taken; -1 where that is not known. */
  bytes: number;
}

/** A copy of a capture that somebody made to send it. */
export interface SharedCopy {
  /** The capture that it is of. */
  of: string;
  /** When it was made, ISO 8601. */
  made: string;
  /** Bytes of the file, and of the capture. */
  bytes: number;
  captureBytes: number;
  /** Views that have their data in it. */
  views: readonly string[];
  inside: readonly CopyPart[];
  leftOut: readonly CopyPart[];
}

export interface DataSource {
  /** The answer to a request below /api/v1/; it fails as `fetch` does when there is nobody to answer. */
  ask(path: string, sent: RequestInit): Promise<Response>;
  /** What this copy is; null where a server answers. */
  readonly copy: SharedCopy | null;
}

const SERVER: DataSource = {
  ask: (path, sent) => fetch(`/api/v1/${path}`, sent),
  copy: null,
};

let current: DataSource = SERVER;

/** The page has one source, chosen before it asks for anything. */
export function source(): DataSource {
  return current;
}

/** Has everything answered by another source than the server. */
export function answerFrom(other: DataSource): void {
  current = other;
}
