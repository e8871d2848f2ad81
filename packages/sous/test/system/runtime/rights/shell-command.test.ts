// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shell reads them.
/** What the parser calls understood is what a real bash runs, and nothing else. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";
import { readShellCommand } from "../../../../src/runtime/rights/shell-command.ts";
import { tryCommands } from "../../../support/runtime/rights/shell-trial.ts";

suite("B5.3: the grammar of commands", () => {
  const wordsOf = (text: string): string[][] => {
    const { commands, problem } = readShellCommand(text, { home: "/home/me" });
    assert.equal(problem, undefined, text);
    return commands.map(({ words }) => words.map((word) => (word.isOpen ? `${word.text}…` : word.text)));
  };

  const understood: [text: string, words: string[][]][] = [
    ["git  'status'\t--short", [["git", "status", "--short"]]],
    ['a "b c" && d | e || f; g\nh & i', [["a", "b c"], ["d"], ["e"], ["f"], ["g"], ["h"], ["i"]]],
    [`grep "a\\"\\$b\\n" 'c"d' my\\ file --x="y z" ''`, [["grep", 'a"$b\\n', 'c"d', "my file", "--x=y z", ""]]],
    ["npm test 2>&1 >/dev/null; ls\n", [["npm", "test"], ["ls"]]],
    ["git diff HEAD~1 HEAD^ issue#12 größe.txt", [["git", "diff", "HEAD~1", "HEAD^", "issue#12", "größe.txt"]]],
    ["te''st \\\n  n\\pm # it's", [["test", "npm"]]],
    ["ls ~/x $HOME/y ~ *.ts $?", [["ls", "/home/me/x", "/home/me/y", "/home/me", "*.ts…", "0…"]]],
    ["git stash drop stash@{1}", [["git", "stash", "drop", "stash@{1}"]]],
    ["CI=1 DEBUG='a b' npm test", [["npm", "test"]]],
    ["cat > a.txt <<'EOF'\n$(x) it's\nEOF\nls", [["cat"], ["ls"]]],
    [
      "git commit -m \"$(cat <<'EOF'\nfix: it's `x` (y)\n\nmore\nEOF\n)\"",
      [["git", "commit", "-m", "fix: it's `x` (y)\n\nmore"]],
    ],
    ["echo 'two\nlines'", [["echo", "two\nlines"]]],
    ["a &&\n\n b", [["a"], ["b"]]],
    ["a &\\\n& b", [["a"], ["b"]]],
    ["[ -f x ] && ls", [["[", "-f", "x", "]"], ["ls"]]],
  ];
  for (const [text, words] of understood)
    test(`${JSON.stringify(text)} is read as its commands`, () => assert.deepEqual(wordsOf(text), words));

  test("a home folder that is not known, or that the shell would split, leaves its words open", () => {
    for (const home of [undefined, "/home/m e", "me"]) {
      const { commands } = readShellCommand("ls ~/x $HOME/y ~", { home });
      const words = commands.map((command) => command.words.map(({ text, isOpen }) => [text, isOpen]));
      assert.deepEqual(
        words,
        [
          [
            ["ls", false],
            ["/x", true],
            ["/y", true],
            ["", true],
          ],
        ],
        home,
      );
    }
  });

  const not = [
    ..."$(a)|`a`|a $x|a ${x}|a \"$x\"|a $((1))|a <(b)|(a)|{ a; }|if a; then b; fi|a=1|a[0]=1 b|! a|[[ a ]]|a {b,c}|a {1..3}|a {b},{c}|a 'b|a \"b|a \\|a ~root|a --x=~/y|a $'b'|a ;; b|; a|a && |a <<< b|a <<EOF\n$x\nEOF|a <<'EOF'\nb|a >&b|a > $x|a > *|{v}>x a|a > #b|a() { b; }|function a { b; }|> x|$HOME/a|~/a|a*b c".split(
      "|",
    ),
    "a || | b",
    "a {b}{c}",
    "a {b},c",
    "a\rb",
    "a\u00a0b",
    "a\u200bb",
    "a \0",
    "",
    "# only a comment",
    `a ${"b".repeat(20_000)}`,
    Array.from({ length: 51 }, () => "a").join(";"),
  ];
  for (const text of not.filter((each) => each !== "a ")) {
    test(`the grammar does not understand ${JSON.stringify(text.slice(0, 60))}`, () =>
      assert.notEqual(readShellCommand(text).problem, undefined));
  }

  test("redirections name the file in every folder where the shell may be", () => {
    const { files } = readCommandLine("cd a && echo x > b; cd /c; cat < d 2> ~/e > /dev/null", { home: "/home/me" });
    assert.deepEqual(files, [
      { kind: "write", paths: ["b", "a/b"], isSure: true },
      { kind: "read", paths: ["d", "a/d", "/c/d"], isSure: true },
      { kind: "write", paths: ["/home/me/e"], isSure: true },
    ]);
    const unknown = [
      "cd - && echo x > b",
      "cd a* && echo x > b",
      "cd a b; echo x > c",
      "echo x > a/../b",
      "cd a; echo x > ../b",
    ];
    for (const text of unknown) assert.match(readCommandLine(text, {}).problem ?? "", /which file/, text);
    assert.equal(readCommandLine("ln -s /etc a; echo x > a/b", {}).files[0]?.isSure, false);
  });
});

test("B5.3: a real bash runs exactly the commands that were understood", async (t) => {
  // `npm run soak -- R10` draws fresh seeds.
  for (const seed of [9, 10]) {
    const report = await tryCommands({ seed, commands: 250 });
    t.diagnostic(JSON.stringify({ seed, ...report }));
    assert.deepEqual(report.different, [], `seed ${seed}`);
    assert.ok(report.understood >= 40, `only ${report.understood} are understood`);
  }
});
