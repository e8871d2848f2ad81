/** Values that no store writes, for databases of a forger. */

/** As SQL: what a column can hold, also where its type says otherwise. */
export const VALUES: readonly [string, ...string[]] = [
  "NULL",
  "''",
  "'NaN'",
  "'1e999'",
  "-1",
  "0.5",
  "9e15",
  "8640000000000001",
  "9007199254740993",
  "9223372036854775807",
  "-9223372036854775808",
  "1e308",
  "9e999",
  "x'00ff80'",
  "zeroblob(2000000)",
  '\'{"a":[{"b":null}]}\'',
  "'[[[[[[[['",
  "'\"\\ud800\"'",
  "char(55296) || 'x'",
  "hex(zeroblob(700000))",
  "char(27) || '[2J' || char(10) || 'x'",
];

/** What a field of an event can be, as JSON. */
export const FIELDS: readonly [string, ...string[]] = [
  "null",
  "-1",
  "1e400",
  "9e15",
  "0.5",
  '"NaN"',
  "[]",
  "{}",
  '"\\ud800"',
  "true",
  "[[[{}]]]",
  "123456789012345678901",
];

/** The paths of all fields of an event, as SQLite names them. */
export function pathsOf(value: unknown, path = "$"): string[] {
  if (typeof value !== "object" || value === null) return [path];
  const inside = Object.entries(value).flatMap(([name, part]) =>
    pathsOf(part, Array.isArray(value) ? `${path}[${name}]` : `${path}."${name}"`),
  );
  return path === "$" ? inside : [path, ...inside];
}
