/** What readers have pinned to a capture. See docs/api.md, Notes. */

export interface NoteWire {
  id: string;
  kind: string;
  text: string;
  label: string;
  created: string;
  /** Where it leads to; no view when what it was pinned to is gone. */
  view: string;
  params: Record<string, string>;
  /** Of a slice; times are ns from the begin of the timeline. */
  track: number;
  depth: number;
  start: number;
  dur: number;
}

export interface NotesWire {
  notes: NoteWire[];
  /** A sentence when nothing can be written. */
  reason: string;
}
