import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fits, nothingFits, parseQuery, type Facts } from "../src/data/grammar.ts";

interface Case {
  query: string;
  name: string;
  facts: Facts;
  holds: boolean;
}

/** The cases that the server's grammar is held to as well. */
const CASES = JSON.parse(
  readFileSync(new URL("../../tests/query/capture/grammar_cases.json", import.meta.url), "utf-8"),
) as Case[];

describe("the grammar of filters", () => {
  it.each(CASES)("$query in $name", ({ query, name, facts, holds }) => {
    expect(fits(parseQuery(query), name, facts)).toBe(holds);
  });
  it("says what is wrong with a pattern, and finds nothing by it", () => {
    for (const text of ["/(a/", "/(?=a)/", "/(a)\\1/"]) {
      const query = parseQuery(text);
      expect(query.wrong).toContain("is not a regular expression");
      expect(fits(query, "aa")).toBe(false);
      expect(nothingFits(query, text, "kernel")).toBe(query.wrong);
    }
  });
  it("says what a list has no facts about", () => {
    expect(nothingFits(parseQuery("track:CPU"), "track:CPU", "kernel")).toContain("has a track");
    expect(nothingFits(parseQuery("x"), "x", "kernel")).toBe("No kernel fits “x”.");
  });
});
