/** Limits of a whole tree, as defaults in the configuration: flags go before them, and a limit of money needs a price. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { UnpricedModel } from "../../../../src/core/errors.ts";
import { agentStage, DONE } from "../../../support/app/cli/agent-stage.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";

const configured = (line: string) => agentStage({ "config/sous/config.yaml": `agent: { ${line} }\n` });
const USAGE = [{ text: "Done.", usage: { input: 100, output: 10 } }];

suite("H1: limits of the tree in the configuration", () => {
  for (const [line, option, more, message] of [
    ["max_tokens_total: 10", "--max-tokens-total", "1000000", /^Token limit exceeded/],
    ["timeout: 50ms", "--timeout", "5m", /time|Time/],
  ] as const) {
    test(`H1: ${line} holds, and ${option} goes before it`, async () => {
      await using here = await configured(line);
      const script = { sous: [{ ...USAGE[0], wait_ms: 300 }] };
      const { result } = await here.run(script);
      assert.match(result.error?.message ?? result.status, message);
      assert.equal((await here.run(script, option, more)).result.status, "completed");
    });
  }

  test("H1: a limit of money holds, and needs a model with a known price", async () => {
    await using here = await configured("budget: 0.000001");
    await assert.rejects(here.run({ sous: DONE }, "--model", "ollama/foo"), UnpricedModel);
    const shown = await here.command("config", "explain", "agent.budget");
    assert.match(shown.stdout, /agent\.budget.*0\.000001/s);
  });

  for (const options of [["--budget", "0.01"], []]) {
    test(`H1: a model without a price is refused in chat, too: ${options.join(" ") || "by the configuration"}`, async () => {
      await using here = await configured("budget: 1");
      const parameters = ["chat", "--model", "ollama/foo", ...options];
      const { stdout, stderr } = await inProcess(parameters, { cwd: here.root, env: here.env, input: "Hello.\n" });
      assert.equal(stdout, "");
      assert.match(stderr, /^error: .*ollama\/foo.*price/m);
    });
  }
});
