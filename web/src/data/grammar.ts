/**
 * How people say what they look for, the same in every filter: words in any order, "with blanks", /patterns/, -without,
 * and kind: track: rule: op: before any of these. `query/capture/grammar.py` reads it alike, and one file of cases holds
 * both to it (tests/query/capture/grammar_cases.json).
 */

export type Field = "kind" | "track" | "rule" | "op";
export type Facts = Partial<Record<Field, string>>;

interface Term {
  text: string;
  field: Field | "";
  regex: RegExp | null;
  excluded: boolean;
}

export interface Query {
  terms: readonly Term[];
  /** What is wrong with a pattern; empty when nothing is. */
  wrong: string;
}

const TERM =
  /(?<no>-(?=\S))?(?:(?<field>kind|track|rule|op):)?(?:"(?<quoted>[^"]*)"(?=\s|$)|\/(?<regex>(?:[^/\\]|\\.)+)\/(?=\s|$)|(?<word>\S+)|(?=\s|$))/gi;
/** What the server's linear patterns lack, and what could keep a browser busy. */
const UNSUPPORTED = /\(\?[=!<]|\\[1-9]/;

export function parseQuery(text: string): Query {
  const terms: Term[] = [];
  let wrong = "";
  for (const { groups = {} } of text.matchAll(TERM)) {
    const value = groups["quoted"] ?? groups["regex"] ?? groups["word"] ?? "";
    if (value === "") continue;
    let regex: RegExp | null = null;
    if (groups["regex"] !== undefined) {
      try {
        if (UNSUPPORTED.test(value)) throw new SyntaxError("look-around and references are not possible");
        regex = new RegExp(value, "iu");
      } catch (error) {
        wrong = `/${value}/ is not a regular expression: ${error instanceof Error ? error.message : ""}`;
        continue;
      }
    }
    const field = (groups["field"] ?? "").toLowerCase() as Field | "";
    terms.push({ text: value.toLowerCase(), field, regex, excluded: groups["no"] !== undefined });
  }
  return { terms, wrong };
}

/** Whether every term holds for a thing of that name; about a fact that it has not, none does. */
export function fits(query: Query, name: string, facts: Facts = {}): boolean {
  if (query.wrong !== "") return false;
  return query.terms.every((term) => {
    const text = term.field === "" ? name : facts[term.field];
    const holds = text !== undefined && (term.regex ? term.regex.test(text) : text.toLowerCase().includes(term.text));
    return holds !== term.excluded;
  });
}

/** Whether a name has something of what is wanted, for a part of a whole that fits; all does where no name is wanted. */
export function touches(query: Query, name: string): boolean {
  const wanted = query.terms.filter((term) => term.field === "" && !term.excluded);
  return wanted.length === 0 || wanted.some((term) => fits({ terms: [term], wrong: "" }, name));
}

/** The sentence of a list that a filter emptied. */
export function nothingFits(query: Query, text: string, what: string, known: readonly Field[] = []): string {
  if (query.wrong !== "") return query.wrong;
  const foreign = query.terms.find(({ field, excluded }) => field !== "" && !excluded && !known.includes(field));
  if (foreign) return `Nothing here has a ${foreign.field}; filter by name.`;
  return `No ${what} fits “${text.length > 60 ? `${text.slice(0, 60)}…` : text}”.`;
}
