// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are for the shell.

/** B4.5: a redirection is judged wherever it stands in a command, also where the rest is not understood. */

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createPolicy, type Policy } from "../../../src/runtime/rights/policy.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { requestFor, rulesFrom } from "../../support/runtime/rights/requests.ts";

/** Each writes `.envrc`, which programs obey without being called. */
const GUARDED = [
  ...["> .envrc", "! echo x > .envrc", "(echo x > .envrc)", "((echo x) > .envrc)", "{ echo x > .envrc; }"],
  ...[
    "if true; then echo x > .envrc; fi",
    "for i in 1; do echo x > .envrc; done",
    "while true; do echo x; done > .envrc",
  ],
  ...["case a in a) echo x > .envrc;; esac", "f() { echo x > .envrc; }; f", "exec > .envrc", "coproc echo x > .envrc"],
  ...["echo $(date) > .envrc", "echo x >& .envrc", "echo x &>> .envrc", "echo x <> .envrc", "echo x 3> .envrc >&3"],
  ...["echo $X >.envrc", "echo $X > './.envrc'", 'echo $X > ".env"rc', "echo $X > .env\\rc", "echo $X >| .ENVRC"],
  ...[
    "echo x > sub/../.envrc",
    "cd sub && echo x >> ../.envrc",
    "cd -- sub; echo $X > .envrc",
    "echo $X > link/../.envrc",
  ],
  ...[
    "cat <<E > .envrc\n$X\nE",
    "cat <<'E'\n'\nE\necho $X > .envrc",
    "# it's\necho $X > .envrc # '",
    "echo `echo x > .envrc`",
  ],
  ...[
    'echo "$(echo x > .envrc)"',
    "[[ 1 ]] > .envrc",
    "$'echo' x > .envrc",
    "x=1; echo $x > .envrc &",
    "echo x > hooks/z; $X",
  ],
  ...[
    "bash -c 'echo x > .envrc'",
    "eval 'echo x > .envrc'",
    "sh <<E\necho x > .envrc\nE",
    "sh -c \"echo x > '.envrc'\"",
  ],
];
/** Each writes a file that is known only when the command runs. */
const UNKNOWN = [
  ...[
    "echo x > $F",
    'echo x > "$PWD/.envrc"',
    "echo x > .e*vrc",
    "echo x > .env{rc,}",
    "echo x > $'.envrc'",
    "echo x > ${F}",
  ],
  ...["echo x > $(echo .envrc)", "echo x > `echo .envrc`", 'echo x > "$F"', "(echo x >$F)", "if a; then b > $F; fi"],
  ...[
    "cd - ; echo x > z",
    "cd $D && echo x > z",
    "cd -P $D && echo x > z",
    "popd; echo $X > z",
    "(cd $D; echo x >> z)",
  ],
  ...[
    "pushd; echo x > z",
    "echo x >&$F",
    "echo x > ~root/z",
    "cd hook*; echo x > z",
    "cat <<E > $F\nx\nE",
    'echo x > "a"$F',
  ],
];
/** Each writes outside of the workspace, and its path does not say so. */
const OUTSIDE = [
  ...[
    "echo x > out/new",
    "echo x > ../new",
    "cd out && echo x > new",
    "cd .. ; echo x > new",
    "cd sub/.. ; echo x > out/new",
  ],
  ...[
    "echo x >> ./out/new",
    "echo x 2> out/new",
    "echo x &> out/new",
    "ls missing > out/deep/new",
    "echo x > sub/../../new",
  ],
  ...[
    "(echo x > out/new)",
    "echo $X > out/new",
    "echo $X > ../new",
    "(cd out; echo x > new)",
    "cd out && echo $X > new",
  ],
  ...[
    "for i in 1; do echo x > out/new; done",
    "echo $X > out/../new",
    "cd -P out; echo x > new",
    "cd -- out; echo x > new",
  ],
  ...["if a; then b > '../new'; fi", "echo x <> out/new", "exec > out/new", "cd sub; echo x > ../../new"],
];
/** Ordinary commands: no redirection of theirs is a question. */
const ORDINARY = [
  ...[
    "npm test > /dev/null",
    "npm test 2>&1",
    "npm test > /tmp/x",
    "npm test &> /tmp/x",
    "echo x > log.txt",
    "(npm test > log.txt)",
  ],
  ...[
    "cd sub && npm test > log.txt",
    "cd sub && npm test > ../log.txt",
    "echo $(date) > out.txt",
    "echo x >&2; $X",
    "$X 2>&-",
  ],
  ...[
    "for f in *.ts; do wc -l $f; done > counts.txt",
    "while read -r l; do echo $l; done < in.txt > out.txt",
    "exec 3>&1; $X",
  ],
  ...[
    "cat > notes.md <<EOF\n$X's\n> $Y\nEOF",
    "node -e 'xs.map(x => $y)'",
    'node -e "a.map(x => ({b: x}))"',
    "awk '$1 > 5' x",
  ],
  ...[
    "diff <(ls a) <(ls b)",
    "$X | tee >(grep x)",
    "echo $X # don't > $Y",
    "git log --format='%an <%ae>' | $X",
    "((i > 3)) && $X",
  ],
  ...[
    "echo $X > ~/notes.txt",
    "git diff $X > $HOME/x.patch",
    "if [ -f x ]; then echo 1 > y; fi",
    "{ a; b; } > /tmp/x 2>&1",
  ],
];

suite("B4.5: a redirection is judged wherever it stands", () => {
  let tree: Awaited<ReturnType<typeof temporaryTree>>;
  let work: string;
  let policies: Record<string, Policy>;

  before(async () => {
    tree = await temporaryTree({ "outside/deep/": "", "repository/sub/inner/": "", "repository/.git/hooks/": "" });
    work = join(tree.path, "repository");
    mkdirSync(join(tree.path, "home"));
    symlinkSync("../outside", join(work, "out"));
    symlinkSync("sub/inner", join(work, "link"));
    symlinkSync(".git/hooks", join(work, "hooks"));
    const home = join(tree.path, "home");
    const options = { home, guards: { top: work, homes: [home] } };
    policies = {
      "--yes": createPolicy({ ...options, rules: [], allowsAll: true }),
      "rules for all commands": createPolicy({ ...options, rules: rulesFrom("allow terminal", "allow write_file") }),
    };
  });
  after(() => tree[Symbol.asyncDispose]());

  const effects = (command: string): string[] =>
    Object.values(policies).map((policy) => {
      return policy.decide(requestFor("terminal", { command }, { cwd: work }))?.effect ?? "the tier";
    });

  for (const [what, commands] of Object.entries({
    "a guarded file": GUARDED,
    "a file that is not known": UNKNOWN,
    "a file outside": OUTSIDE,
  })) {
    for (const command of commands)
      test(`B4.5: nothing but a person allows to write ${what}: ${JSON.stringify(command)}`, () => {
        for (const effect of effects(command)) assert.match(effect, /^(?:ask|deny)$/);
      });
  }
  for (const command of ORDINARY)
    test(`B4.5: no question is added to ${JSON.stringify(command)}`, () =>
      assert.deepEqual(effects(command), ["allow", "allow"]));

  test("B4.5: a rule or an answer for exactly this text allows a file that is not known, and none that is guarded", () => {
    const guards = { top: work };
    for (const [command, expected] of [
      ["echo x > $F", "allow"],
      ["echo x > out/new", "allow"],
      ["echo $X > AGENTS.md", "ask"],
    ] as const) {
      const policy = createPolicy({ guards, rules: rulesFrom(`allow terminal(=${command})`) });
      assert.equal(policy.decide(requestFor("terminal", { command }, { cwd: work }))?.effect, expected, command);
    }
  });
});
