/** Where the user is: capture, view and the view's own parameters, as the address after the #. */

export type Params = Readonly<Record<string, string>>;

export interface Place {
  capture: string;
  view: string;
  params: Params;
}

/** A place out of "#/gpt/rewrites?step=12&match=3". Anything that is not one gives empty parts. */
export function parsePlace(hash: string): Place {
  const text = hash.replace(/^#?\/?/, "");
  const cut = text.indexOf("?");
  const [capture = "", view = ""] = (cut < 0 ? text : text.slice(0, cut)).split("/").map(decode);
  const params: Record<string, string> = {};
  if (cut >= 0)
    for (const [key, value] of new URLSearchParams(text.slice(cut + 1))) if (value !== "") params[key] = value;
  return { capture, view, params };
}

/** The address of a place; parameters in a fixed order, so that equal places have equal addresses. */
export function formatPlace(place: Place): string {
  const path = [place.capture, place.view].map(encodeURIComponent).join("/").replace(/\/$/, "");
  const keys = Object.keys(place.params)
    .filter((key) => place.params[key] !== "")
    .sort();
  const query = keys.map((key) => `${encodeURIComponent(key)}=${encodeURIComponent(place.params[key]!)}`).join("&");
  return `#/${path}${query === "" ? "" : `?${query}`}`.replaceAll("%2C", ",");
}

/** A parameter that is a whole number, or the default. */
export function numberParam(params: Params, key: string, otherwise: number): number {
  const text = params[key];
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : otherwise;
}

/** Params with changes put in; null takes one out. */
export function changed(params: Params, change: Record<string, string | number | null>): Params {
  const result: Record<string, string> = { ...params };
  for (const [key, value] of Object.entries(change)) {
    if (value === null || value === "") delete result[key];
    else result[key] = String(value);
  }
  return result;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
