/** Reads a PromQL expression as far as the tests of `ops/` need it: which metrics and labels it names, with which values. */

export type Matcher = { readonly label: string; readonly values: readonly string[] };
export type Selector = { readonly metric: string; readonly matchers: readonly Matcher[] };
export type Query = {
  readonly selectors: readonly Selector[];
  /** Labels that are grouped by. */
  readonly groupedBy: readonly string[];
};

const GROUPING = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g;
const SELECTOR = /([A-Za-z_:][\w:]*)\s*(\{[^}]*\})?(?!\w|\s*\()/g;
const MATCHER = /(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g;
const WORDS = new Set(["offset", "or", "and", "unless", "bool"]);

export function readQuery(expression: string): Query {
  const groupedBy = [...expression.matchAll(GROUPING)].flatMap(([, list = ""]) =>
    list.split(",").map((label) => label.trim()),
  );
  const plain = expression
    .replace(GROUPING, " ")
    .replace(/\[[^\]]*\]/g, " ")
    .replace(/\boffset\s+\w+/g, " ");
  const selectors = [...plain.matchAll(SELECTOR)]
    .filter(([, name = ""]) => !WORDS.has(name))
    .map(([, metric = "", matchers = ""]) => ({ metric, matchers: [...matchers.matchAll(MATCHER)].map(toMatcher) }));
  return { selectors, groupedBy };
}

/** Values of a regular expression are the words between its bars. */
function toMatcher([, label = "", value = ""]: RegExpMatchArray): Matcher {
  return { label, values: value.split("|") };
}
