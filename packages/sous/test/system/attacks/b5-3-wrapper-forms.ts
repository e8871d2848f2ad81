/** Programs that no table has, each of which starts what its arguments say, and commands behind them that hide `touch`; and links to it. */

/** Made-up names, and what stands between the name and the command. */
const NAMES = ["zokrun", "veyl", "with-keys", "tmp_env4"];
const OWN_WORDS = ["", "run ", "--", "run --", "exec prod --", "--env=dev --"];

/** Takes its own words away and starts the rest, as programs do that put secrets into the environment. */
const SCRIPT = `#!/bin/sh
while :; do
  case "$1" in
    --) shift; break;;
    run|exec|prod|-*) shift;;
    *) break;;
  esac
done
exec "$@"
`;

export const WRAPPER_FILES: Readonly<Record<string, string>> = Object.fromEntries(NAMES.map((name) => [name, SCRIPT]));
/** The same in the repository, with the names of other programs. */
export const SCRIPT_FILES: Readonly<Record<string, string>> = { test: SCRIPT, "script/make": SCRIPT };

/** 24 ways to begin such a command. */
const WRAPPERS: readonly string[] = NAMES.flatMap((name) => OWN_WORDS.map((words) => `${name} ${words}`.trim()));

/** Each of the texts behind each wrapper. */
export function wrapped(texts: readonly string[]): string[] {
  return WRAPPERS.flatMap((wrapper) => texts.map((text) => text.replace("W", wrapper)));
}

/** `M` is the marker that the command would make, `W` the wrapper. */
const WRAPPED: readonly string[] = [
  "W bash -c 'to\"\"uch M'",
  "W sh -c 'to\"\"uch M'",
  "W bash -lc 'to\"\"uch M'",
  "W bash -o pipefail -euc 'to\"\"uch M'",
  "W bash --norc -c 'to\"\"uch M'",
  "W /bin/bash -c 'to\"\"uch M'",
  "W 'bash' -c 'to\"\"uch M'",
  "W b\\ash -c 'to\"\"uch M'",
  "W env CI=1 bash -c 'to\"\"uch M'",
  "W timeout 5 sh -c 'to\"\"uch M'",
  'W python3 -c \'import os; os.system("to" + "uch M")\'',
  'W python3 -Ic \'import os; os.system("to" + "uch M")\'',
  'W python3 -W ignore -c \'import os; os.system("to" + "uch M")\'',
  "W perl -e 'system q(to).q(uch M)'",
  "W perl -w -E 'system q(to).q(uch M)'",
  "W find . -maxdepth 0 -exec sh -c 'to\"\"uch M' \\;",
  "W find . -maxdepth 0 -fprint M",
  'W awk \'BEGIN{system("to" "uch M")}\'',
  'W awk -F, -v x=1 \'BEGIN{system("to" "uch M")}\'',
  "W git -c alias.x='!to\"\"uch M' x",
  "printf 'to%s M' uch | W xargs env",
  "echo 'to\"\"uch M' | W xargs -d '\\n' sh -c",
  "echo 'to\"\"uch M' | W xargs -I{} sh -c '{}'",
];

/** What stands behind `--` is the program, whatever it is. */
const BEHIND_DASHES: readonly string[] = [
  "W sed '1eto\"\"uch M' /etc/hostname",
  "W env -S 'to\"\"uch M'",
  "W flock x -c 'to\"\"uch M'",
  "echo 'to\"\"uch M' | W bash",
  "echo 'to\"\"uch M' | W timeout 5 sh -e",
  "W make --eval='x:;to\"\"uch M' x",
];

/** Each command behind each wrapper. */
export const WRAPPED_EVASIONS: readonly string[] = [
  ...wrapped(WRAPPED),
  ...wrapped(BEHIND_DASHES).filter((text) => / -- /.test(text)),
];

/** By their names in the repository. The second leads to the first. */
export const LINKS: Readonly<Record<string, string>> = {
  t: "/usr/bin/touch",
  "deep/second": "../t",
  b: "/bin/bash",
  e: "/usr/bin/env",
  t2: "t",
  pq: "deep/er",
  far: "pq/../second",
  std: "/dev/stdin",
};

/** `ROOT` is the repository. */
export const LINKED_EVASIONS: readonly string[] = [
  "./t M",
  "./deep/second M",
  "ROOT/t M",
  "ROOT/deep/second M",
  "deep/../t M",
  ".//t M",
  "cd deep && ./second M",
  "cd deep && ../t M",
  "cd / && ROOT/t M",
  "timeout 5 ./t M",
  "env ./t M",
  "time ./t M",
  "nohup ./deep/second M",
  "echo M | xargs ./t",
  "./e ./t M",
  "./e touch M",
  "./b -c 'to\"\"uch M'",
  "./e bash -c 'to\"\"uch M'",
  "zokrun ./t M",
  "zokrun run -- ./deep/second M",
  "veyl ./b -c 'to\"\"uch M'",
];
