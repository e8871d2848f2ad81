/** Commands that a person is told to type next work when they are typed exactly so. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openFolders } from "./folder-stage.ts";

const LOOK = { calls: [{ tool: "list_files", input: {} }] };
const ENDS = JSON.stringify({ sous: [{ text: "Done." }] });

type Limit = { name: string; options: string; script: object; code: number; printed: RegExp };

const LIMITS: Limit[] = [
  {
    name: "money",
    options: "--budget 0.012",
    script: { sous: [{ ...LOOK, usage: { input: 9000, output: 500 } }, { text: "never" }] },
    code: 5,
    printed: /^error: Cost limit exceeded: .* Continue this run: (sous resume \w{26} --add-budget [\d.]+ .*)$/m,
  },
  {
    name: "tokens",
    options: "--max-tokens-total 12000",
    script: { sous: [{ ...LOOK, usage: { input: 9000, output: 500 } }, { text: "never" }] },
    code: 5,
    printed: /^error: Token limit exceeded: .* Continue this run: (sous resume \w{26} --add-tokens \d+ .*)$/m,
  },
  {
    name: "time",
    options: "--timeout 2s",
    script: { sous: [{ text: "I begin.", ending: "hangs" }] },
    code: 6,
    printed: /^error: Time limit exceeded: .* Continue this run: (sous resume \w{26} --timeout 2s .*)$/m,
  },
];

suite("G5: the command that is printed when a run reached its limit", () => {
  for (const { name, options, script, code, printed } of LIMITS) {
    test(`the printed command continues a run that reached its limit of ${name}`, async () => {
      using stage = openFolders("shop");
      stage.write("shop/answers.json", JSON.stringify(script));
      stage.write("shop/my config.yaml", "prices: { script/answers.json: { input: 1, output: 1 } }\n");
      const flags = "--db-path 'my runs.db' --config 'my config.yaml'";
      const run = `sous run 'Look around.' --model script/answers.json ${flags} ${options}`;
      const ended = await stage.type(run, { in: "shop" });
      assert.equal(ended.code, code, ended.stderr);
      const [, command = ""] = printed.exec(ended.stderr) ?? [];
      assert.ok(command.endsWith(flags), ended.stderr);
      stage.write("shop/answers.json", ENDS);
      const without = command.replace(/ --(add-budget|add-tokens|timeout) \S+/, "");
      if (name !== "time")
        assert.equal((await stage.type(without, { in: "shop" })).code, code, "its limit still holds");
      const continued = await stage.type(command, { in: "shop" });
      assert.deepEqual([continued.code, continued.stdout], [0, "Done.\n"], continued.stderr);
    });
  }

  test("the printed command continues a run that reached its limit of tokens in another folder", async () => {
    using stage = openFolders("shop", "bakery");
    stage.write("shop/answers.json", JSON.stringify(LIMITS[1]?.script));
    stage.write("bakery/answers.json", ENDS);
    const run = "sous run 'Look around.' --model script/answers.json --max-tokens-total 12000";
    assert.equal((await stage.type(run, { in: "shop" })).code, 5);
    const reached = await stage.type("sous resume last --here", { in: "bakery" });
    const [, command = ""] = /Continue with more: (sous resume .*)$/m.exec(reached.stderr) ?? [];
    const continued = await stage.type(command, { in: "bakery" });
    assert.deepEqual([continued.code, continued.stdout], [0, "Done.\n"], reached.stderr + continued.stderr);
  });

  test("the printed command continues a copy that is given more money", async () => {
    using stage = openFolders("shop");
    stage.write("shop/answers.json", JSON.stringify(LIMITS[0]?.script));
    stage.write("config/sous/config.yaml", "prices: { script/answers.json: { input: 1, output: 1 } }\n");
    const run = "sous run 'Look around.' --model script/answers.json --budget 0.012";
    assert.equal((await stage.type(run, { in: "shop" })).code, 5);
    stage.write("shop/answers.json", ENDS);
    const fork = await stage.type("sous resume last --fork --add-budget 0.02", { in: "shop" });
    assert.deepEqual([fork.code, fork.stdout], [0, "Done.\n"], fork.stderr);
    const shown = await stage.type("sous replay --id last --json", { in: "shop" });
    assert.deepEqual(JSON.parse(shown.stdout).events[0].budget, { cost_usd: 0.032 });
  });
});
