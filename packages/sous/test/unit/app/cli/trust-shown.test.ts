/** `sous trust` and what a project would start: each word of it is on the screen before it is trusted, or it is not trusted. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import { shownName, shownWords } from "../../../../src/app/cli/terminal/shown-words.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { TerminalInProcess } from "../../../support/app/cli/terminal-in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const HARM = "touch-7f3a";

async function stage(files: Readonly<Record<string, string>>) {
  const projects = Object.entries(files).map(([name, text]) => [`project/${name}`, text]);
  const tree = await temporaryTree({ "project/.git/HEAD": "", ...Object.fromEntries(projects) });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: join(tree.path, "state") };
  const place = { cwd: join(tree.path, "project"), env };
  return {
    ...tree,
    place,
    trust: (...more: string[]) => inProcess(["trust", ...more], place),
    isTrusted: () => existsSync(join(tree.path, "state/sous/trust.json")),
  };
}

const filler = (count: number) => Array.from({ length: count }, (_, index) => `--option-${index}`);
const bash = (line: string) => ({ command: "bash", args: ["-c", line] });
const variables = (count: number) => Object.fromEntries(filler(count).map((name) => [name.slice(2), "x"]));

/** Entries with one harmful word each, at a place where it could be overlooked. */
const ENTRIES: Readonly<Record<string, object>> = {
  "a long line for bash, harmful at its end": bash(`echo ${"x".repeat(1500)}; ${HARM}`),
  "a long line for bash, harmful in the middle": bash(`echo ${"x".repeat(1500)}; ${HARM}; echo ${"x".repeat(1500)}`),
  "a line for bash that is longer than a page": bash(`echo ${"x".repeat(5000)}; ${HARM}`),
  "300 options before the word": { command: "node", args: [...filler(300), HARM] },
  "150 options around the word": { command: "node", args: [...filler(75), HARM, ...filler(75)] },
  "1,000 options before the word": { command: "node", args: [...filler(1000), HARM] },
  "a long address": { url: `https://a.example/${"x".repeat(1500)}?${HARM}` },
  "an address that is longer than a page": { url: `https://a.example/${"x".repeat(9000)}?${HARM}` },
  "an address beside a command that is null": { command: null, url: `https://a.example/${HARM}` },
  "an address under another name": { httpUrl: `https://a.example/${"x".repeat(1200)}/${HARM}` },
  "a command that is a list": { command: ["npx", "-y", "x".repeat(1500), HARM] },
  "a command and a list behind it": { command: ["npx", "x".repeat(1500)], args: [HARM] },
  "a long name of a program": { command: `./${"x".repeat(1500)}/${HARM}` },
  "many line breaks": bash(`echo${"\n".repeat(700)}${HARM}`),
  "many tabs": bash(`echo${"\t".repeat(700)}${HARM}`),
  "many blanks": bash(`echo${" ".repeat(700)}${HARM}`),
  "thousands of blanks": bash(`echo${" ".repeat(5000)}${HARM}`),
  "invisible characters": bash(`echo${"\u200b".repeat(400)}${HARM}`),
  "thousands of invisible characters": bash(`echo${"\u200b".repeat(3000)}${HARM}`),
  "codes of a terminal": bash(`echo ok\u001b[2K\u001b[1A; ${HARM} \u001b]0;x\u0007`),
  "a line that is written over": bash(`${HARM}\recho ok`),
  "a comment in front": bash(`# ${"x".repeat(1200)}\n${HARM}`),
  "a long folder": { command: "node", cwd: `sub/${"x".repeat(1500)}/${HARM}` },
  "a folder behind many variables": { command: "node", env: variables(200), cwd: HARM },
  "the last of many variables": { command: "node", env: { ...variables(200), [HARM]: "x" } },
  "the last of thousands of variables": { command: "node", env: { ...variables(2000), [HARM]: "x" } },
  "the value of a variable that bash runs": { ...bash("$RUN"), env: { RUN: `${HARM} x` } },
  "the value of a variable without a blank": { ...bash('eval "$RUN"'), env: { RUN: `{${HARM},/tmp/x}` } },
  "the registry of a program that fetches packages": { command: "npx", env: { npm_config_registry: `http://${HARM}` } },
  "a variable under another name": { command: "node", environment: { NODE_OPTIONS: `--import=./${HARM}.mjs` } },
  "a value that looks like a key": { ...bash("$RUN"), env: { RUN: `sk-ant-api03-${"x".repeat(60)}${HARM}` } },
  "the value of a header": { url: "https://a.example", headers: { "X-Host": `${HARM}.example` } },
  "a value that is a number in a list": { command: "node", env: { LIST: ["-e", HARM] } },
  "the long value of a variable": { command: "node", env: { NODE_ARGS: `${"x ".repeat(900)}${HARM}` } },
  "the last of many headers": { url: "https://a.example", headers: { ...variables(100), [HARM]: "x" } },
  "a variable that is asked for": { command: "node", args: [...filler(100), `\${${HARM.replace("-", "_")}}`, HARM] },
  "an argument of many, with quotes": { command: "sh", args: ["-c", `echo '${"'".repeat(300)}'; "${HARM}"`] },
};

suite("B4.2: sous trust shows all that it trusts", () => {
  for (const [name, entry] of Object.entries(ENTRIES)) {
    // JSON is YAML.
    const inConfig = (key: string) => [".sous/config.yaml", key, JSON.stringify({ [key]: { probe: entry } })] as const;
    const places: (readonly [file: string, key: string, text: string])[] = [
      [".mcp.json", "mcpServers", JSON.stringify({ mcpServers: { harmless: { command: "true" }, probe: entry } })],
      inConfig("mcp_servers"),
      ...("command" in entry ? [inConfig("agent_servers")] : []),
    ];
    for (const [file, key, text] of places) {
      test(`B4.2: ${name} in ${file} (${key}) is on the screen, or the project is not trusted`, async () => {
        await using here = await stage({ [file]: text });
        const { code, stdout, stderr } = await here.trust("--yes");
        if (code === 0) assert.ok(stdout.includes(HARM), stdout);
        else {
          assert.match(stderr, /^error: This project cannot be trusted: in .* the entry of the server probe takes \d+/);
          assert.ok(stderr.includes(file));
        }
        assert.deepEqual([code, here.isTrusted()], code === 0 ? [0, true] : [3, false]);
      });
    }
  }

  test("B4.2: an entry of 4,000 characters is shown whole, and one of 4,001 is refused", async () => {
    const codes: (number | null)[] = [];
    for (const length of [4000, 4001]) {
      const facts = "  (probe in .mcp.json)".length;
      const entry = { command: "x".repeat(length - facts - HARM.length) + HARM };
      await using here = await stage({ ".mcp.json": JSON.stringify({ mcpServers: { probe: entry } }) });
      const { code, stdout } = await here.trust("--yes");
      assert.equal(stdout.includes(`${entry.command}  (probe in .mcp.json)\n`), code === 0);
      codes.push(code);
    }
    assert.deepEqual(codes, [0, 3]);
  });

  test("B4.2: a terminal shows rows that end with no blank and together are the whole entry", async () => {
    const words = ["bash", "-c", `${"ab ".repeat(300)}; ${HARM} ${"x".repeat(200)} end`];
    const mcpServers = { probe: { command: words[0], args: words.slice(1) } };
    await using here = await stage({ ".mcp.json": JSON.stringify({ mcpServers }) });
    await using command = new TerminalInProcess(["trust"], here.place);
    await command.screen.until("Trust it? [y/N]");
    const lines = command.screen.text().split("\n");
    const first = lines.indexOf("Programs and addresses it names:") + 1;
    const rows = lines.slice(first, -1).map((row, index) => (index === 0 ? row.slice(2) : row.slice(6)));
    // The screen has no blanks at the end of a row: what is read here is what a person sees.
    assert.equal(rows.join(""), `${shownWords(words)}  (probe in .mcp.json)`);
  });

  test("B4.2: of the values only the secrets of this machine are marked, also where one goes over the end of a row", async () => {
    const key = "correct-horse-battery-staple-9";
    for (const filled of [0, 20, 40, 60]) {
      const env = { FIRST: "x".repeat(filled), TOKEN: key, HOST: "a.example" };
      const probe = { command: "node", args: [`--key=${key}`], env };
      await using here = await stage({ ".mcp.json": JSON.stringify({ mcpServers: { probe } }) });
      const place = { ...here.place, env: { ...here.place.env, MY_API_KEY: key } };
      const { stdout } = await inProcess(["trust", "--yes"], place);
      assert.match(stdout, /TOKEN=\[redacted: MY_API_KEY\]', HOST=a\.example\)/);
      await using command = new TerminalInProcess(["trust"], place);
      await command.screen.until("[redacted: MY_API_KEY]");
      assert.ok(!command.screen.text().replace(/\s/g, "").includes(key.slice(0, 12)));
    }
  });

  test("B4.2: fields of a server that are not texts are shown as they are written", async () => {
    const probe = { command: { a: 1 }, args: [["b"], 5], cwd: { c: 2 } };
    await using here = await stage({ ".mcp.json": JSON.stringify({ mcpServers: { probe } }) });
    const { stdout } = await here.trust("--yes");
    assert.ok(stdout.includes(`'{"a":1}' '["b"]' 5  (probe in .mcp.json, in the folder '{"c":2}')`), stdout);
  });
});

suite("B4.2: what is different looks different", () => {
  const PAIRS: readonly (readonly [readonly string[], readonly string[]])[] = [
    [["a b"], ["a", "b"]],
    [
      ["a", "", "b"],
      ["a", "b"],
    ],
    [["a  b"], ["a b"]],
    [["a\tb"], ["a b"]],
    [["a\nb"], ["a b"]],
    [["a\\nb"], ["a\nb"]],
    [["a\u00a0b"], ["a b"]],
    [["a\u200bb"], ["ab"]],
    [["\u0430bc"], ["abc"]],
    [["a "], ["a"]],
    [["'a'"], ["a"]],
    [["$'\\x20'"], [" "]],
    [["a\u202eb"], ["ab"]],
    [["\\u202e"], ["\u202e"]],
    [["caf\u00e9"], ["cafe\u0301"]],
    [["\ud83d\ude00"], ["\ud83d"]],
  ];
  for (const [one, other] of PAIRS) {
    test(`B4.2: ${JSON.stringify(one)} and ${JSON.stringify(other)} are shown as two commands`, () => {
      assert.notEqual(shownWords(one), shownWords(other));
      for (const shown of [one, other].map(shownWords)) assert.match(shown, /^(?:[!-~]| (?! ))*$/);
    });
  }

  test("B4.2: no two names are shown alike, and none hides or moves anything", () => {
    const name = fc.string({
      unit: fc.constantFrom("a", "\\", " ", "\u200b", "\u202e", "\n", "<U+000A>", "<", "\u3164", "é"),
      maxLength: 6,
    });
    const seen = new Map<string, string>();
    const check = (text: string): void => {
      const shown = shownName(text);
      assert.equal(seen.get(shown) ?? text, text);
      seen.set(shown, text);
      assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\u3164]/u);
    };
    fc.assert(fc.property(name, check), { numRuns: 500 });
  });
});
