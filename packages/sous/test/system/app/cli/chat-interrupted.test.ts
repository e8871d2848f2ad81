/** `sous chat` in a pipe that is told to stop: at once, whatever it is doing, and without the lines that are left. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { folder, MODEL } from "../../../support/app/cli/chat-folder.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { runProcess } from "../../../support/app/cli/run-process.ts";

suite("a chat in a pipe", { concurrency: true }, () => {
  test("a chat that is interrupted stops its shell line, and takes no further line", async () => {
    await using place = await folder({ sous: [{ text: "Never." }] });
    const input = "!kill -INT $PPID; sleep 300\nhello\n";
    const { code, stdout, stderr } = await runProcess({ ...place, parameters: ["chat", ...MODEL], input });
    assert.deepEqual([code, stdout, stderr], [130, "[stopped: cancelled]\n", ""]);
  });

  test("a chat that is interrupted ends with its run, and takes no line that was read before", async () => {
    await using place = await folder({ sous: [{ text: "One.", wait_ms: 300 }, { text: "Never." }] });
    const input = "one\ntwo\nthree\n";
    const signalAt = { text: "starts: one", signal: "SIGINT" } as const;
    const { code, stdout } = await inProcess(["chat", ...MODEL], { ...place, input, signalAt });
    assert.deepEqual([code, stdout], [130, "One.\n"]);
  });

  for (const [signal, code] of [
    ["TERM", 143],
    ["INT", 130],
  ] as const) {
    test(`a chat begins nothing when ${signal} came before it was ready`, async () => {
      await using place = await folder();
      const program = join(place.cwd, "..", "key.sh");
      writeFileSync(program, `#!/bin/sh\nkill -${signal} $PPID\necho key\n`);
      chmodSync(program, 0o700);
      mkdirSync(join(place.cwd, "..", "config", "sous"), { recursive: true });
      const config = `model: anthropic/claude-sonnet-4-5\nprovider: { api_key_command: "${program}", base_url: "http://127.0.0.1:9" }\n`;
      writeFileSync(join(place.cwd, "..", "config", "sous", "config.yaml"), config);
      const ended = await runProcess({ ...place, parameters: ["chat"], input: "hello\n" });
      assert.deepEqual([ended.code, ended.stdout, ended.stderr], [code, "", ""]);
    });
  }
});
