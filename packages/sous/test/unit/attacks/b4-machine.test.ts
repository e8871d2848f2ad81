/** B4.1, B4.5: files of a repository that would decide what runs next. Judged by canaries and by what was written. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { modelSource } from "../../../src/app/cli/application/models.ts";
import { canaryServer } from "../../support/attacks/canary-server.ts";
import { calling, type Flags, openCommand, saying } from "../../support/attacks/whole-command.ts";

const CANARY = "CANARY-5d1f";

suite("B4.1: models that a script names", () => {
  test("B4.1: a script that a model names for a child is not opened", async () => {
    await using canary = await canaryServer();
    await using command = await openCommand({ "home/secret": "TOP-SECRET and more" });
    // Whoever chose a real provider plays no scripts; the canary stands for that provider.
    const env = { OPENAI_API_KEY: "made-up-key", OPENAI_BASE_URL: canary.url };
    const programs = { run: () => Promise.reject(new Error("no")) } as never;
    const provider = { timeoutMs: 1000, maxRetries: 0 };
    const source = await modelSource({ cwd: command.root, env, programs }, {
      model: "openai-chat/any",
      provider,
    } as never);
    const choice = `script/${join(command.path, "home/secret")}`;
    const said = await Promise.resolve()
      .then(() => source.resolve(choice))
      .then(String, String);
    assert.doesNotMatch(said, /TOP/);
    assert.match(said, /No model provider is called "script"/);
  });
});

suite("B4.5: a file that sous obeys is not written, whatever is allowed", () => {
  const targets: [path: string, flags?: Flags, env?: Record<string, string>][] = [
    [".sous/config.yaml"],
    [".sous/agents/evil.md"],
    [".claude/agents/evil.md"],
    [".git/hooks/post-checkout"],
    [".git/config"],
    [".bashrc"],
    [".vscode/settings.json"],
    ["runs.db", { "db-path": "RUNS" }],
    ["runs.db-wal", { "db-path": "RUNS" }],
    ["state/sous/trust.json", {}, { XDG_STATE_HOME: "state" }],
    ["config/sous/config.yaml", {}, { XDG_CONFIG_HOME: "config" }],
    [".config/sous/config.yaml", {}, { HOME: "" }],
  ];
  for (const [path, flags = {}, places = {}] of targets) {
    test(`B4.5: no tool writes ${path}${Object.keys(places).map((name) => ` with ${name} in the repository`)}`, async () => {
      await using command = await openCommand();
      const env = Object.fromEntries(Object.entries(places).map(([name, place]) => [name, join(command.root, place)]));
      const keep = flags["db-path"] === undefined ? {} : { "db-path": join(command.root, "runs.db") };
      const script = { sous: [calling(["write_file", { path, content: CANARY }]), saying("Done.")] };
      await command.run(script, { yes: true, ...keep }, { env });
      const file = join(command.root, path);
      const content = existsSync(file) ? await readFile(file, "latin1") : "";
      assert.doesNotMatch(content, new RegExp(`^${CANARY}`));
    });
  }

  test("B4.5: another file is written by the same call, so the rows above can fail", async () => {
    await using command = await openCommand();
    const script = { sous: [calling(["write_file", { path: "notes.md", content: CANARY }]), saying("Done.")] };
    await command.run(script, { yes: true });
    assert.equal(await readFile(join(command.root, "notes.md"), "utf8"), CANARY);
  });
});
