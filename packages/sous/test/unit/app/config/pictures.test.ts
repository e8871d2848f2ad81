/** The words that people see about mistakes and settings, letter by letter. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { explainLines, settingLines } from "../../../../src/app/cli/commands/config.ts";
import { errorPicture } from "../../../../src/app/cli/report-error.ts";
import { chooseStyle, type Style } from "../../../../src/app/cli/terminal/style.ts";
import { explain, nearestSetting } from "../../../../src/app/config/explain.ts";
import type { Problem } from "../../../../src/app/config/problem.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { ConfigurationFolder, type Given } from "../../../support/app/config/configuration-files.ts";

const golden = join(import.meta.dirname, "../../../support/app/config/golden");
const folder = new ConfigurationFolder();
after(() => folder[Symbol.dispose]());

const styleOf = (color: "always" | "never", isAscii = false): Style =>
  chooseStyle({ color, isAscii, isTerminal: false, env: {} });
const plain = styleOf("never");

/** With the name that the contract has. */
async function contractProblem(): Promise<Problem> {
  const [problem] = await folder.problems({ user: "model: a/b\nagent:\n  subagent: { max_depth: 0 }\n" });
  assert.ok(problem?.location.kind === "file");
  return { ...problem, location: { ...problem.location, file: ".sous/config.yaml" } };
}

suite("E3: the picture of a mistake", () => {
  test("the picture is the one of the contract", async () => {
    assert.deepEqual(errorPicture(await contractProblem(), plain), [
      "error SOUS-C003  .sous/config.yaml:3:26",
      "   2 │ agent:",
      " > 3 │   subagent: { max_depth: 0 }",
      "     │                          ^ agent.subagent.max_depth must be greater than 0 (allowed: 1–10)",
      "   fix   remove the line for the default (3), or give a number from 1 to 10",
    ]);
  });

  test("the picture is the same in plain glyphs, and with colours around it", async () => {
    const problem = await contractProblem();
    const ascii = errorPicture(problem, styleOf("never", true));
    assert.match(ascii.join(""), /^[\x20-\x7e]*$/);
    assert.equal(ascii[3], `     |${" ".repeat(26)}^ agent.subagent.max_depth must be greater than 0 (allowed: 1-10)`);
    const coloured = errorPicture(problem, styleOf("always"));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of colours are what is taken out.
    const without = coloured.map((line) => line.replaceAll(/\u001b\[\d+m/g, ""));
    assert.notDeepEqual(coloured, without);
    assert.deepEqual(without, errorPicture(problem, plain));
  });

  test("the picture is as it was promised for every kind of source; UPDATE_SNAPSHOTS=1 updates it", async () => {
    const given: Given[] = [
      {
        user: "modle: a/b\nagent:\n  max_turns: 0\nprovider:\n  api_key: sk-ant-0123456789\n",
        env: { SOUS_AGENT_SUBAGENT_MAX_DEPTH: "11" },
        flags: [{ key: "agent.subagent.max_concurrent", flag: "--max-concurrent", value: 5000 }],
      },
      { user: "a: [1\nb: 2" },
      { configFlagFile: "missing.yaml" },
      {
        user: Array.from({ length: 9 }, (_, line) => `# ${line}`)
          .join("\n")
          .concat("\n名前: 1\n"),
      },
      { user: `tools: { fetch: { allow_hosts: [${"a.example, ".repeat(30)}"/"] } }` },
    ];
    const pictures: string[] = [];
    for (const each of given) {
      for (const problem of await folder.problems(each)) pictures.push(...errorPicture(problem, plain), "");
    }
    assertGolden("pictures.txt", pictures, golden);
  });

  test("B4.6: the picture does nothing to a terminal, whatever the file says", async () => {
    const hostile = ["a: \u001b]0;owned\u0007\u001b[2J", "\u202ea: 1\nb: [", "x\u009b31m: 1"];
    for (const user of hostile) {
      for (const problem of await folder.problems({ user })) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left.
        assert.doesNotMatch(errorPicture(problem, plain).join(""), /[\u0000-\u001f\u007f-\u009f\u202e]/);
      }
    }
  });
});

suite("E1: config explain", () => {
  const given: Given = {
    user: 'model: anthropic/claude-sonnet-4-5\nprovider: { api_key_command: pass show key, timeout: 5m }\nagent: { max_turns: 20 }\npermissions: [ { allow: "terminal(git status*)" } ]\n',
    project: 'permissions: [ { deny: "write_file(.env*)" } ]\n',
    env: { SOUS_AGENT_MAX_TURNS: "30" },
  };

  test("config explain is as it was promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
    const loaded = await folder.load(given);
    const all = explain(loaded) ?? [];
    const lines: string[] = [];
    for (const key of ["agent.max_turns", "provider.api_key_command", "permissions", "agent.subagent.max_total_cost"]) {
      const [one] = explain(loaded, key) ?? [];
      assert.ok(one !== undefined);
      lines.push(...explainLines(one, { style: plain, columns: 80 }), "");
    }
    const changed = all.filter(({ isDefault }) => !isDefault);
    lines.push(...settingLines(changed, plain), "", ...settingLines(all, plain));
    assertGolden("explain.txt", lines, golden);
  });

  test("config explain shows a time in the largest unit in which it is easy to read", async () => {
    const shown = async (time: string) =>
      explain(await folder.load({ user: `provider: { timeout: ${time} }` }), "provider.timeout")?.[0]?.shown;
    const rows = Object.entries({
      "500ms": "500ms",
      "0.25s": "250ms",
      "1": "1s",
      "90s": "90s",
      "299s": "299s",
      "300s": "5m",
      "301s": "301s",
      "119m": "119m",
      "7200s": "2h",
      "7201s": "7201s",
    });
    for (const [time, expected] of rows) assert.equal(await shown(time), expected, time);
  });

  test("config explain says of a secret that it is set, and nothing of its value", async () => {
    const loaded = await folder.load(given);
    const [secret] = explain(loaded, "provider.api_key_command") ?? [];
    assert.equal(secret?.shown, "set");
    assert.ok(!JSON.stringify(explain(loaded)).includes("pass show key"));
  });

  test("config explain knows groups, and what was meant by an unknown name", async () => {
    const loaded = await folder.load({});
    assert.equal(explain(loaded, "agent.subagent")?.length, 14);
    assert.equal(explain(loaded, "agent.sub"), undefined);
    assert.equal(nearestSetting("max_depht"), "agent.subagent.max_depth");
    assert.equal(nearestSetting("agent.max_turn"), "agent.max_turns");
    assert.equal(nearestSetting("colour"), undefined);
  });
});
