/** The strict reading of a command says what a real shell would do with it, and nothing hostile gets through it. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { suite, test } from "node:test";
import fc from "fast-check";
import { createPolicy } from "../../src/rights/policy.ts";
import { quoteWords, readShellCommand } from "../../src/rights/shell-command.ts";
import { decideOn, noLinks, requestFor, rulesFrom } from "./requests.ts";

function partsOf(text: string): readonly (readonly string[])[] | undefined {
  const reading = readShellCommand(text);
  return reading.isPlain ? reading.parts : undefined;
}

suite("B5.3: the strict reading", () => {
  test("splits words and parts", () => {
    assert.deepEqual(partsOf("git  'status'\t--short"), [["git", "status", "--short"]]);
    assert.deepEqual(partsOf('a "b c" && d | e || f; g\nh'), [["a", "b c"], ["d"], ["e"], ["f"], ["g"], ["h"]]);
    assert.deepEqual(partsOf(`grep "a\\"\\$b\\n" 'c"d' my\\ file --x="y z" ''`), [
      ["grep", 'a"$b\\n', 'c"d', "my file", "--x=y z", ""],
    ]);
    assert.deepEqual(partsOf("npm test 2>&1 >/dev/null; ls\n"), [["npm", "test"], ["ls"]]);
    assert.deepEqual(partsOf("git diff HEAD~1 HEAD^ issue#12 größe.txt"), [
      ["git", "diff", "HEAD~1", "HEAD^", "issue#12", "größe.txt"],
    ]);
  });

  // What a shell would read in another way stands between pieces that are read alike everywhere.
  const piece = fc.constantFrom(
    ...'a|b1| |  |\t|\'c d\'|"e f"|\\ |\\$|\\\\|"\\$"|"\\q"|\'\'|""|-x|--y=|=|:|,|~|#|!|^|%|@|+|/|.|..|]|é|文|*|?|[|{|}|$x|$(y)|`z`|(|)|;|&|>|<|\n|\r|\\\n|\'|"|\\|2>&1| >/dev/null|>f|\u00a0|\u200b'
      .split("|")
      .filter((each) => each !== ""),
  );

  test("gives the very words that sh and bash would pass on", () => {
    const plain: { text: string; words: readonly string[] }[] = [];
    for (const text of fc.sample(fc.array(piece, { minLength: 1, maxLength: 6 }), { numRuns: 4000, seed: 7 })) {
      const command = `w ${text.join("")}`;
      const [words, more] = partsOf(command) ?? [];
      if (words !== undefined && more === undefined) plain.push({ text: command, words });
    }
    assert.ok(plain.length > 300, `only ${plain.length} are plain`);
    const script = ["w() { printf '%s\\0' w \"$@\" >&3; }", ...plain.map(({ text }) => `${text}\nprintf '\\n\\0' >&3`)];
    const text = `exec 3>&1 >/dev/null\n${script.join("\n")}`;
    for (const shell of ["/bin/sh", "/bin/bash"].filter((file) => existsSync(file))) {
      const printed = execFileSync(shell, ["-c", text], { encoding: "utf8" });
      const seen = printed.split("\n\0").map((words) => words.split("\0").slice(0, -1));
      assert.deepEqual(
        seen.slice(0, -1),
        plain.map(({ words }) => words),
      );
    }
  });

  test("reads back what it has quoted", () => {
    const word = fc.string({ unit: "grapheme-ascii" }).filter((text) => text !== "");
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (rest) => {
        const words = ["program", ...rest];
        const reading = readShellCommand(quoteWords(words));
        // A quote inside a quoted word leaves plain pieces beside it, which are not read.
        if (reading.isPlain) assert.deepEqual(reading.parts, [words]);
        else assert.ok(rest.some((each) => each.includes("'")));
      }),
      { numRuns: 300 },
    );
  });
});

suite("B5.3: properties of terminal rules", () => {
  const hostile = fc.constantFrom(
    "~/x",
    ..."; rm x~& rm x~&& rm x~| sh~|| rm x~\nrm x~$(rm x)~`rm x`~$X~$\u007bX}~$((1))~\"$(rm x)\"~> f~>> f~< f~<<E\nx\nE~<(rm x)~>(rm x)~2>f~&>f~{a,b}~*~?~[a]~\\\nrm x~\r~\0~\u00a0~\u200b~\u202e~\u2028~# x~'~\"~te''st~n\\pm~(rm x)~$'\\x41'~!(x)~|& sh~;;"
      .split("~")
      .filter((each) => each !== ""),
  );
  const harmless = fc.constantFrom(" --watch", " 'a b'", " -- x", " 2>&1", " a/b.ts", " é");
  const tail = fc.array(harmless, { maxLength: 3 }).map((pieces) => pieces.join(""));

  test("a command with one hostile piece is never allowed by terminal(npm test*)", () => {
    fc.assert(
      fc.property(tail, hostile, tail, (before, piece, after) => {
        const command = `npm test${before} ${piece}${after}`;
        assert.equal(decideOn(["allow terminal(npm test*)"], "terminal", { command }), undefined);
      }),
      { numRuns: 1000 },
    );
  });

  test("without it, it is: the property above can fail", () => {
    fc.assert(
      fc.property(tail, (rest) => {
        assert.equal(decideOn(["allow terminal(npm test*)"], "terminal", { command: `npm test${rest}` }), "allow");
      }),
      { numRuns: 50 },
    );
  });

  const word = fc.constantFrom("npm", "test", "git", "push", "status", "-C", ".", "--force", "sudo", "rm", "a b", "$x");
  const words = fc.array(word, { minLength: 1, maxLength: 6 });
  const rules = ["allow terminal(npm test*)", "allow terminal(git*)", "ask terminal(rm*)", "deny terminal(git push*)"];

  test("a command and its twin in other quotes get the same answer", () => {
    const quotings = [
      (text: string) => `'${text}'`,
      (text: string) => `"${text.replace("$", "\\$")}"`,
      (text: string) => (/[ $]/.test(text) ? `'${text}'` : text),
    ];
    fc.assert(
      fc.property(words, fc.array(fc.nat(2), { minLength: 6, maxLength: 6 }), (list, picks) => {
        const twin = list.map((each, index) => quotings[picks[index] ?? 0]?.(each) ?? each).join("  ");
        const answers = [quoteWords(list), twin].map((command) => decideOn(rules, "terminal", { command }));
        assert.equal(answers[0], answers[1], twin);
      }),
      { numRuns: 500 },
    );
  });

  test("whatever is added to the rules, what was denied stays denied; what denies or asks never allows more", () => {
    const strength = { deny: 3, ask: 2, allow: 0, none: 1 };
    const line = fc
      .tuple(
        fc.constantFrom("allow", "ask", "deny"),
        words.filter((list) => !list.includes("$x")),
      )
      .map(([effect, list]) => `${effect} terminal(${quoteWords(list)}*)`);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), line, words, (known, added, list) => {
        const request = requestFor("terminal", { command: quoteWords(list) });
        const [before, after] = [known, [...known, added]].map(
          (lines) => createPolicy({ rules: rulesFrom(...lines), realPath: noLinks }).decide(request)?.effect ?? "none",
        );
        if (before === undefined || after === undefined) throw new Error("no answer");
        if (before === "deny") assert.equal(after, "deny");
        if (!added.startsWith("allow"))
          assert.ok(strength[after] >= strength[before] || after === "none", `${before} → ${after}`);
        if (!added.startsWith("allow") && before !== "allow") assert.notEqual(after, "allow");
      }),
      { numRuns: 500 },
    );
  });
});
