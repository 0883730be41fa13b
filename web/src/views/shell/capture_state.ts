/** What the status bar says of the capture on the screen: whether it grows, is whole, and is still where it was. */
import { count } from "../../base/format.ts";
import { connection } from "../../data/connection.ts";
import { source } from "../../data/source.ts";
import type { CaptureInfo, CaptureRow } from "../../wire/capture.ts";

export interface CaptureState {
  text: string;
  /** `gone` when what is on the screen cannot be asked for again, `on` while it grows. */
  mark: "gone" | "on" | "";
}

/** The state of a capture; `rows` are those of the server, `heard` when it grew last. */
export function captureState(info: CaptureInfo, rows: CaptureRow[], heard: number): CaptureState {
  if (source().copy) return { text: "shared copy", mark: "" };
  if (connection.gone) return { text: "disconnected · trying again", mark: "gone" };
  const row = rows.find((one) => one.id === info.id);
  if (!row) return { text: "not on this server any more", mark: "gone" };
  if (row.stamp === "") return { text: "deleted on disk · what was read stays here", mark: "gone" };
  if (info.live) {
    const events = (info.tables["slices"] ?? 0) + (info.tables["matches"] ?? 0);
    const ago = ((performance.now() - heard) / 1000).toFixed(1);
    return { text: `live · ${count(events)} events, ${ago} s ago`, mark: "on" };
  }
  return { text: info.clean ? "sealed" : "ended without closing", mark: "" };
}
