/** Attempts to run another command under the cover of one that a rule allows. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../src/core/agent.ts";
import { type Tool, tool } from "../../../src/core/tool.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { decideOn, rulesFrom } from "../../support/runtime/rights/requests.ts";

const ATTEMPTS: [how: string, command: string][] = [
  ["a chain of 60 parts", Array.from({ length: 60 }, () => "npm test").join(" && ")],
  ["a chain of 60 parts with one other", [...Array.from({ length: 59 }, () => "npm test"), "rm x"].join(";")],
  ["a second command after ;", "npm test; rm -rf x"],
  ["a second command without blanks", "npm test;rm -rf x"],
  ["a second command after &&", "npm test && rm -rf x"],
  ["a second command after ||", "npm test || rm -rf x"],
  ["a pipe", "npm test | sh"],
  ["a pipe with both streams", "npm test |& sh"],
  ["the background", "npm test & rm -rf x"],
  ["a line break", "npm test\nrm -rf x"],
  ["a carriage return", "npm test\rrm -rf x"],
  ["CR LF", "npm test\r\nrm -rf x"],
  ["a line continuation", "npm test \\\n; rm -rf x"],
  ["a vertical tab", "npm test\vrm"],
  ["a form feed", "npm test\frm"],
  ["one word that looks like two", "'npm test'"],
  ["; inside quotes that end early", "npm test ';' \"; rm\"; rm x"],
  ["a quote that never ends", "npm test 'x"],
  ["a backslash at the end", "npm test \\"],
  ["$IFS", "npm$IFS'test'"],
  ["$IFS with braces", `npm test$${"{IFS}"}x`],
  ["a variable", "npm test $X"],
  ["a variable in double quotes", 'npm test "$X"'],
  ["a substitution", "npm test $(rm -rf x)"],
  ["a substitution in double quotes", 'npm test "$(rm -rf x)"'],
  ["a substitution as the program", "$(echo npm) test"],
  ["backticks", "npm test `rm -rf x`"],
  ["backticks in double quotes", 'npm test "`rm -rf x`"'],
  ["arithmetic that substitutes", "npm test $((x[$(rm x)]))"],
  ["ANSI-C quotes", "npm test $'\\x3b rm'"],
  ["a here-document", "npm test <<EOF\n$(rm -rf x)\nEOF"],
  ["a here-string", "npm test <<< x"],
  ["a redirection that writes", "npm test > .env"],
  ["a redirection that appends", "npm test >> .bashrc"],
  ["a redirection that looks like the harmless one", "npm test > /dev/null/../../home/x"],
  ["the harmless redirection with more behind it", "npm test 2>&1>.env"],
  ["a redirection by number", "npm test 3>.env"],
  ["process substitution", "npm test <(rm -rf x)"],
  ["an environment prefix", "NODE_OPTIONS=--require=./evil.js npm test"],
  ["an environment prefix with +=", "PATH+=:. npm test"],
  ["sudo", "sudo npm test"],
  ["sh -c", "sh -c 'npm test'"],
  ["bash -c with the rule's words first", 'bash -c "npm test; rm x"'],
  ["eval", "eval npm test"],
  ["an alias", "alias npm='rm -rf x'\nnpm test"],
  ["a function", "npm() { rm -rf x; }; npm test"],
  ["a base64 pipe", "echo cm0gLXJmIHg= | base64 -d | sh"],
  ["xargs", "npm test | xargs rm"],
  ["find -exec", "find . -exec npm test +"],
  ["a subshell", "(npm test)"],
  ["a group", "{ npm test; }"],
  ["a condition", "if npm test; then rm x; fi"],
  ["a loop", "while npm test; do rm x; done"],
  ["a negation", "! npm test"],
  ["brace expansion", "npm test {a,b}"],
  ["a glob as an argument", "npm test *"],
  ["a glob in the program", "/usr/bin/np? test"],
  ["a tilde", "npm test ~root"],
  ["a longer word", "npm test-evil"],
  ["a longer program", "npmx test"],
  ["another npm", "./npm test"],
  ["another folder", "cd evil && npm test"],
  ["a no-break space", "npm\u00a0test"],
  ["an em space", "npm test\u2003rm"],
  ["an ideographic space", "npm\u3000test"],
  ["a line separator", "npm test\u2028rm"],
  ["a Cyrillic e", "npm t\u0435st"],
  ["fullwidth letters", "\uff4epm test"],
  ["a fullwidth semicolon that hides a real one", "npm test\uff1b; rm x"],
  ["a zero-width space", "npm test\u200b"],
  ["a right-to-left override", "npm test \u202eevil"],
  ["a Hangul filler", "npm test \u3164"],
  ["NUL", "npm test\0; rm x"],
  ["an escape sequence", "npm test \u001b[2K"],
  ["a very long command", `npm test ${"a".repeat(20_000)}`],
  ["very many blanks", `npm test${" ".repeat(20_000)}; rm x`],
  ["nothing", ""],
  ["only a joint", ";"],
];

/** The shell does the same with these, so the rule means them. */
const SAME: [how: string, command: string][] = [
  ["a trailing &", "npm test &"],
  ["a continued word", "npm te\\\nst"],
  ["quotes inside the words", "n'p'm te\"s\"t"],
  ["empty quotes inside a word", "npm te''st"],
  ["a backslash inside a word", "n\\pm test"],
  ["a backslash before the word", "\\npm test"],
  ["reading a file", "npm test < .env"],
  ["env", "env npm test"],
  ["time", "time npm test"],
  ["a comment", "npm test # harmless"],
];

suite("B5.3: no disguise makes a command one that terminal(npm test*) allows", () => {
  const rules = ["allow terminal(npm test*)"];
  for (const [how, command] of ATTEMPTS) {
    test(`${how} is not allowed`, () => assert.equal(decideOn(rules, "terminal", { command }), undefined));
  }

  test("the table shows something: what the rule means is allowed", () => {
    const same = SAME.map(([, command]) => command);
    for (const command of ["npm test", "npm test -- --watch", "npm  'test' 2>&1", ...same]) {
      assert.equal(decideOn(rules, "terminal", { command }), "allow");
    }
  });

  test("two commands that are both allowed are not more together than 50 parts", () => {
    const chain = (parts: number): string => Array.from({ length: parts }, () => "npm test").join(" && ");
    const answers = [50, 51].map((parts) => decideOn(rules, "terminal", { command: chain(parts) }));
    assert.deepEqual(answers, ["allow", undefined]);
  });
});

suite("B5.3: a command that reaches the terminal", () => {
  const attempts = [
    "npm test; rm -rf x",
    "npm test $(rm -rf x)",
    "npm test\nrm -rf x",
    "A=1 npm test",
    "sh -c 'npm test'",
  ];
  for (const command of attempts) {
    test(`${JSON.stringify(command)} does not run without a person to ask, and the plain command does`, async () => {
      const { ran, terminal } = recordingTerminal();
      const policy = createPolicy({ rules: rulesFrom("allow terminal(npm test*)") });
      const model = scriptedModel({
        lead: [calls("terminal", { command }), calls("terminal", { command: "npm test" }), says("Done.")],
      });
      const runtime = createRuntime({ approve: policy });
      const result = await runtime.run(agent({ name: "lead", model, tools: [terminal] }), "Test.");
      assert.deepEqual(ran, ["npm test"]);
      assert.deepEqual([result.status, result.stopReason], ["incomplete", "consent"]);
      assert.deepEqual(
        result.denied.map(({ toolName, input }) => ({ toolName, input })),
        [{ toolName: "terminal", input: { command } }],
      );
    });
  }

  test("--yes lets no denied command through, from a child either", async () => {
    const { ran, terminal } = recordingTerminal();
    const policy = createPolicy({ rules: rulesFrom("deny terminal(git push*)"), allowsAll: true });
    const tries = ["git push", "sh -c 'git push'", "g''it push", "echo $(git push)", "ls"];
    const model = scriptedModel({
      lead: [calls("subagent_scout", { task: "Push." }), says("Done.")],
      "lead/**": [...tries.map((command) => calls("terminal", { command })), says("Tried.")],
    });
    const scout = agent({ name: "scout", description: "Tries.", tools: [terminal] });
    const runtime = createRuntime({ approve: policy });
    const result = await runtime.run(agent({ name: "lead", model, subagents: [scout] }), "Push.");
    assert.deepEqual([ran, result.status], [["ls"], "completed"]);
  });
});

function recordingTerminal(): { ran: string[]; terminal: Tool<{ command: string }> } {
  const ran: string[] = [];
  const terminal = tool({
    name: "terminal",
    description: "Runs a command.",
    tier: "confirm",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => {
      ran.push(command);
      return "ok";
    },
  });
  return { ran, terminal };
}
