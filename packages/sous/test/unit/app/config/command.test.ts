/** `sous config`: streams and exit codes. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { config } from "../../../../src/app/cli/commands/config.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { trust } from "../../../../src/app/config/trust/trust.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-config-command-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

mkdirSync(join(folder, "config/sous"), { recursive: true });
mkdirSync(join(folder, "work/.sous"), { recursive: true });
writeFileSync(join(folder, "config/sous/config.yaml"), "agent:\n  max_turns: 20\n");
writeFileSync(join(folder, "bad.yaml"), "agent:\n  max_turns: 0\nmodle: x\n");
// This folder is not trusted, so nothing in it is read, also not what is wrong in it.
writeFileSync(join(folder, "work/.sous/config.yaml"), "__proto__: 1\n");

const options = {
  cwd: join(folder, "work"),
  env: { XDG_CONFIG_HOME: join(folder, "config"), XDG_STATE_HOME: join(folder, "state") },
};

suite("E1: sous config", () => {
  test("sous config explain says on stdout where a value came from, and reads nothing of an untrusted folder", async () => {
    const { code, stdout, stderr } = await inProcess(["config", "explain", "agent.max_turns"], options);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^warning: the files of the project .* are not read \(\.sous\), because it is not trusted;[^\n]*\n$/,
    );
    const [first, from] = stdout.split("\n");
    assert.deepEqual(
      [first, from],
      ["agent.max_turns = 20", `  from      ${join(folder, "config/sous/config.yaml")}:2`],
    );
  });

  test("E3: sous config check tells every mistake on stderr, says nothing on stdout, and ends with 3", async () => {
    const { code, stdout, stderr } = await inProcess(
      ["config", "check", "--config", "../bad.yaml", "--ascii"],
      options,
    );
    assert.deepEqual([code, stdout], [3, ""]);
    assert.match(stderr, /^error SOUS-C003 {2}\.\.\/bad\.yaml:2:14\n/);
    assert.match(stderr, /\n\nerror SOUS-C005 {2}\.\.\/bad\.yaml:3:1\n/);
    assert.match(stderr, /^[\x20-\x7e\n]*$/);
  });

  test("E3: sous config check says one line when all is well, and ends with 0", async () => {
    const { code, stdout, stderr } = await inProcess(["config", "check"], { ...options, cwd: folder });
    assert.deepEqual([code, stdout, stderr], [0, "The configuration has no mistakes.\n", ""]);
  });

  test("B4.3: sous config explain takes the file of a trusted project into account, and tells what of it is ignored", async () => {
    const cwd = join(folder, "trusted");
    mkdirSync(join(cwd, ".sous"), { recursive: true });
    writeFileSync(join(cwd, ".sous/config.yaml"), "agent:\n  max_turns: 5\nprovider:\n  timeout: 1\n");
    await trust(realpathSync(cwd), await readProject(cwd), {
      stateFolder: join(folder, "state/sous"),
      at: new Date(0),
    });
    const { code, stdout, stderr } = await inProcess(["config", "explain"], { ...options, cwd });
    assert.deepEqual(
      [code, stdout, stderr],
      [
        0,
        "agent.max_turns = 5  .sous/config.yaml:2\n",
        "warning: .sous/config.yaml:4: provider.timeout is ignored: only your own configuration may set it\n",
      ],
    );
  });

  test("sous config schema prints JSON", async () => {
    const { code, stdout } = await inProcess(["config", "schema"], options);
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).properties.agent.properties.subagent.properties.max_depth.maximum, 10);
  });

  test("a setting that there is not is a mistake of usage", async () => {
    const { code, stderr } = await inProcess(["config", "explain", "agent.max_turn"], { ...options, cwd: folder });
    assert.deepEqual([code, stderr], [2, 'error: Unknown setting "agent.max_turn". Did you mean agent.max_turns?\n']);
  });

  test("E3: sous config check --json lists every mistake with its location and its fix, or that there are no mistakes", async () => {
    const bad = await inProcess(["config", "check", "--config", "../bad.yaml", "--json"], options);
    assert.equal(bad.code, 3);
    assert.match(bad.stderr, /^error SOUS-C003 /m);
    assert.deepEqual(JSON.parse(bad.stdout), {
      schema: "sous.config-check.v1",
      problems: [
        {
          code: "SOUS-C003",
          where: "../bad.yaml:2:14",
          message: "agent.max_turns must be greater than 0 (allowed: 1–1000)",
          found: "0",
          fix: "remove the line for the default (50), or give a number from 1 to 1000",
        },
        {
          code: "SOUS-C005",
          where: "../bad.yaml:3:1",
          message: "modle is not a known setting",
          found: null,
          fix: "did you mean model?",
        },
      ],
    });
    const good = await inProcess(["config", "check", "--json"], { ...options, cwd: folder });
    assert.deepEqual([good.code, good.stderr], [0, ""]);
    assert.deepEqual(JSON.parse(good.stdout), { schema: "sous.config-check.v1", problems: [], warnings: [] });
  });

  test("sous config explain --json gives what was set, and with --all every setting", async () => {
    const settings = async (...more: string[]) => {
      const { code, stdout } = await inProcess(["config", "explain", "--json", ...more], { ...options, cwd: folder });
      assert.equal(code, 0);
      const { schema, settings: found } = JSON.parse(stdout);
      assert.equal(schema, "sous.config-explain.v1");
      return found;
    };
    const set = {
      key: "agent.max_turns",
      value: "20",
      from: "config/sous/config.yaml:2",
      is_default: false,
      default: "50",
      allowed: "1–1000",
    };
    assert.deepEqual(await settings(), [set]);
    const all: { key: string; is_default: boolean }[] = await settings("--all");
    assert.deepEqual(
      all.filter(({ is_default }) => !is_default),
      [set],
    );
    assert.equal(all.find(({ key }) => key === "agent.subagent.max_depth")?.is_default, true);
  });

  test("sous config explain says that nothing was set, and how to see the defaults", async () => {
    const env = { ...options.env, XDG_CONFIG_HOME: join(folder, "empty") };
    const { code, stdout, stderr } = await inProcess(["config", "explain"], { cwd: folder, env });
    assert.deepEqual(
      [code, stdout, stderr],
      [0, "Every setting has its default value. sous config explain --all shows them.\n", ""],
    );
  });

  test("the words that sous config takes are named, and the one that it was given", async () => {
    for (const [parameters, found] of [
      [[], ""],
      [["chek"], '; found "chek"'],
    ] as const) {
      const message = `sous config takes explain, check or schema${found}. See sous config --help.`;
      await assert.rejects(config(parameters), { message, exitCode: 2 });
    }
  });
});
