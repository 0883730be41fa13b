/** The keys that move a window: one table for every view. */

export interface KeyStep {
  /** How much longer the window becomes; 1 for a pan. */
  factor: number;
  /** Share of the window to pan; 0 for a zoom. */
  pan: number;
}

const ZOOM = 0.8;
const PAN = 0.12;
/** Shift makes a key go that much farther. */
const FAR = 3;

/** W and S zoom, A and D pan; null for any other key. */
export function axisKey(key: string, shift: boolean): KeyStep | null {
  const far = shift ? FAR : 1;
  switch (key.toLowerCase()) {
    case "w":
      return { factor: ZOOM ** far, pan: 0 };
    case "s":
      return { factor: ZOOM ** -far, pan: 0 };
    case "a":
      return { factor: 1, pan: -PAN * far };
    case "d":
      return { factor: 1, pan: PAN * far };
    default:
      return null;
  }
}

/** + and − zoom, since the letters switch what a graph shows; the factor of the view's length, null for another key. */
export function planeKey(key: string): number | null {
  return key === "+" || key === "=" ? ZOOM : key === "-" ? 1 / ZOOM : null;
}
