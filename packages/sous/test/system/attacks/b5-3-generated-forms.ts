/** Evasions and widenings that are made from a grammar. `M` is the marker that a command would make. */

import fc from "fast-check";

const plain = fc.constantFrom(
  "touch M",
  "'touch' M",
  "/usr/bin/touch M",
  "to\\\nuch M",
  "t''ouch M",
  "CI=1 touch M",
  "touch M 2>&1",
);
const inside = [
  (text: string) => `sh -c '${text.replaceAll("'", `'"'"'`)}'`,
  (text: string) => `eval '${text.replaceAll("'", `'"'"'`)}'`,
  (text: string) => `echo $(${text})`,
  (text: string) => `(${text})`,
  (text: string) => `{ ${text}; }`,
  (text: string) => `if true; then ${text}; fi`,
  (text: string) => `bash <<'E'\n${text}\nE`,
  (text: string) => `cat <<E\n$(${text})\nE`,
];
const before = fc.constantFrom(
  "",
  "ls; ",
  "true && ",
  "ls | ",
  "cd . && ",
  "ls # it's\n",
  "cat <<'E'\nit's\nE\n",
  "echo 'a\nb'; ",
  "ls & ",
  "set -e\n",
);
const starter = fc.constantFrom(
  "",
  "timeout 9 ",
  "env ",
  "nice -n 1 ",
  "nohup ",
  "env CI=1 ",
  "timeout 9 env ",
  "time ",
  "command ",
  "exec ",
);
const after = fc.constantFrom("", " ; ls", " && ls", " | cat", " > /dev/null", " &\nwait", " # x");
const direct = fc
  .tuple(before, starter, fc.constantFrom("touch M", "'touch' M", "/usr/bin/touch M", "t\\ouch M"), after)
  .map((pieces) => pieces.join(""));
const nested = fc
  .tuple(before, plain, fc.constantFrom(...inside), fc.option(fc.constantFrom(...inside.slice(0, 4))))
  .map(([first, text, one, two]) => `${first}${two === null ? one(text) : two(one(text))}`);

/** Evasions made from a grammar. */
export function generatedEvasions(seed: number, count: number): string[] {
  return [...new Set(fc.sample(fc.oneof(direct, nested), { seed, numRuns: count * 2 }))].slice(0, count);
}

/** The same behind something that a rule allows. */
export function generatedWidenings(seed: number, count: number): string[] {
  const allowed = fc.constantFrom(
    "echo x",
    "ls -la",
    "printf '%s' x",
    "test -f x",
    "wc -l /etc/hostname",
    "git status",
  );
  const joint = fc.constantFrom("; ", " && ", " || ", " | ", " & ", "\n", " #x\n", " \\\n; ", " $(", " `", " > >(");
  const made = fc.tuple(allowed, joint, plain).map(([first, between, text]) => {
    const closing = between === " $(" || between === " > >(" ? ")" : between === " `" ? "`" : "";
    return `${first}${between}${text}${closing}`;
  });
  return [...new Set(fc.sample(made, { seed, numRuns: count * 3 }))].slice(0, count);
}
