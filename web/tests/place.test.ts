import { describe, expect, it } from "vitest";
import { changed, formatPlace, numberParam, parsePlace } from "../src/state/place.ts";

describe("the address", () => {
  it("survives a round trip, whatever the names hold", () => {
    const names = ["gpt", "a b/c?d#e&f=g", "<img>", "\u202eabc", "100%", "ä,ö", "%41"];
    for (const name of names) {
      const place = { capture: name, view: "rewrites", params: { step: "12", at: "1,-2,0.5", name } };
      expect(parsePlace(formatPlace(place))).toEqual(place);
    }
  });

  it("has one form for equal places", () => {
    const a = formatPlace({ capture: "c", view: "v", params: { b: "1", a: "2" } });
    expect(a).toBe("#/c/v?a=2&b=1");
    expect(formatPlace({ capture: "c", view: "v", params: { a: "2", b: "1", gone: "" } })).toBe(a);
  });

  it("reads anything that a user may type", () => {
    for (const text of ["", "#", "#/", "#//", "#/x", "#?a", "#/%", "#/%E0%A4%A", "#/a/b/c?x=%", "nonsense"]) {
      const place = parsePlace(text);
      expect(typeof place.capture).toBe("string");
      expect(parsePlace(formatPlace(place))).toEqual(place);
    }
  });

  it("takes only whole numbers as numbers", () => {
    const params = { a: "12", b: "-3", c: "1e3", d: "0x10", e: "9".repeat(30), f: "" };
    expect(Object.keys(params).map((key) => numberParam(params, key, -7))).toEqual([12, -3, -7, -7, -7, -7]);
    expect(numberParam(params, "none", 5)).toBe(5);
  });

  it("changes parameters without touching the old ones", () => {
    const params = { step: "1", match: "2" };
    expect(changed(params, { match: null, node: 3 })).toEqual({ step: "1", node: "3" });
    expect(params).toEqual({ step: "1", match: "2" });
  });
});
