/** B4.2, B1.7: a project whose trust was lost binds no less than before. Judged by markers and by exit codes. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { CommandError } from "../../../src/app/cli/exit-codes.ts";
import { runProcess } from "../../support/app/cli/run-process.ts";
import { type Command, calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const MARK = { sous: [calling(["terminal", { command: "touch marker" }]), saying("Done.")] };
const PROJECT: Record<string, string> = {
  "repository/.sous/config.yaml": 'permissions: [ { deny: "terminal(touch*)" }, { ask: "terminal(mkdir*)" } ]\n',
  "repository/.sous/agents/scout.md": "---\nname: scout\ndescription: x\n---\nLook.\n",
  "repository/AGENTS.md": "Be brief.\n",
  "repository/src/main.ts": "",
};

const YES = { allow: true } as const;

async function trusted(): Promise<Command> {
  const command = await openCommand(PROJECT);
  await command.trust();
  return command;
}

function trustFile({ path }: Command): string {
  return join(path, "home/.local/state/sous/trust.json");
}

/** Ways to lose the trust of the project, by file tools or by a command that was allowed. */
const WAYS: [way: string, act: (command: Command) => void, change: RegExp][] = [
  ["other notes", ({ write }) => write("repository/AGENTS.md", "Be evil.\n"), /changed AGENTS\.md/],
  ["notes that are gone", ({ root }) => rmSync(join(root, "AGENTS.md")), /removed AGENTS\.md/],
  ["another file in .sous", ({ write }) => write("repository/.sous/new", ""), /added \.sous\/new/],
  ["a new agent", ({ write }) => write("repository/.claude/agents/x.md", "x"), /added \.claude\/agents\/x\.md/],
  [
    "rules that are taken out of the configuration",
    ({ write }) => write("repository/.sous/config.yaml", "permissions: []\n"),
    /changed \.sous\/config\.yaml/,
  ],
  [
    "a configuration that is no YAML",
    ({ write }) => write("repository/.sous/config.yaml", "\t{"),
    /changed \.sous\/config\.yaml/,
  ],
  [
    "a configuration that is gone",
    ({ root }) => rmSync(join(root, ".sous/config.yaml")),
    /removed \.sous\/config\.yaml/,
  ],
  [
    "no .sous",
    ({ root }) => rmSync(join(root, ".sous"), { recursive: true, maxRetries: 5 }),
    /removed \.sous\/config\.yaml/,
  ],
  [
    "no file for sous at all",
    ({ root }) => {
      for (const path of [".sous", "AGENTS.md"]) rmSync(join(root, path), { recursive: true, maxRetries: 5 });
    },
    /removed AGENTS\.md/,
  ],
  [
    "no .sous and no .git, so that nothing marks the top of the project",
    ({ root }) => {
      for (const path of [".sous", ".git"]) rmSync(join(root, path), { recursive: true, maxRetries: 5 });
    },
    /removed \.sous\/config\.yaml/,
  ],
  [
    "no .sous and no .git, inside of another repository",
    ({ root, path }) => {
      mkdirSync(join(path, ".git"));
      for (const each of [".sous", ".git"]) rmSync(join(root, each), { recursive: true, maxRetries: 5 });
    },
    /removed \.sous\/config\.yaml/,
  ],
  [
    "a link in the place of .sous",
    ({ root }) => {
      renameSync(join(root, ".sous"), join(root, "settings"));
      symlinkSync("settings", join(root, ".sous"));
    },
    /added \.sous/,
  ],
  [
    "a folder in the place of the configuration",
    ({ root }) => {
      rmSync(join(root, ".sous/config.yaml"));
      mkdirSync(join(root, ".sous/config.yaml"));
    },
    /removed \.sous\/config\.yaml/,
  ],
  [
    "more files than can be compared",
    ({ write }) => {
      for (let index = 0; index <= 1000; index++) write(`repository/.sous/${index}`, "");
    },
    /more than 1000 files/,
  ],
];

suite("B4.2: trust that is lost narrows", () => {
  for (const [way, act, change] of WAYS) {
    test(`B4.2: ${way}: without a person to ask the command ends with 3 and says what changed`, async () => {
      await using command = await trusted();
      act(command);
      await assert.rejects(command.run(MARK, { yes: true }), (error) => {
        assert.ok(error instanceof CommandError);
        assert.equal(error.exitCode, 3);
        assert.match(error.message, change);
        assert.match(error.message, /sous trust.*--bare/);
        return true;
      });
      assert.equal(existsSync(join(command.root, "marker")), false);
    });
    test(`B1.7: ${way}: with a person there what the project denied stays denied`, async () => {
      await using command = await trusted();
      act(command);
      const { warnings, agents } = await command.run(MARK, { yes: true }, { ask: () => YES });
      assert.equal(existsSync(join(command.root, "marker")), false);
      assert.equal(warnings.length, 1, warnings.join("\n"));
      assert.deepEqual(agents, []);
    });
  }

  test("B1.7: a call that the project asked about is still asked about, over a rule of the user that allows it", async () => {
    await using command = await trusted();
    command.write("repository/AGENTS.md", "x\n");
    command.write("home/.config/sous/config.yaml", 'permissions: [ { allow: "terminal(mkdir*)" } ]\n');
    const asked: string[] = [];
    const script = { sous: [calling(["terminal", { command: "mkdir marker" }]), saying("Done.")] };
    const ask = ({ toolName }: { toolName: string }) => {
      asked.push(toolName);
      return { allow: false } as const;
    };
    await command.run(script, {}, { ask });
    assert.deepEqual([asked, existsSync(join(command.root, "marker"))], [["terminal"], false]);
  });

  for (const mark of [".git", ".sous"]) {
    test(`B1.7: a ${mark} that was made in a folder of the project does not end its rules there`, async () => {
      await using command = await trusted();
      const cwd = join(command.root, "src");
      mkdirSync(join(cwd, mark));
      await command.run(MARK, { yes: true }, { cwd });
      assert.equal(existsSync(join(cwd, "marker")), false);
    });
  }

  test("B1.7: a record of before rules were kept does not count as trust", async () => {
    await using command = await trusted();
    const { version, projects } = JSON.parse(readFileSync(trustFile(command), "utf8"));
    const old = projects.map(({ path, sha256, at }: Record<string, string>) => ({ path, sha256, at }));
    writeFileSync(trustFile(command), JSON.stringify({ version, projects: old }));
    assert.equal(await command.state(), "changed");
    await assert.rejects(command.run(MARK, { yes: true }), CommandError);
  });

  for (const text of [
    "",
    "{",
    '{"projects":[{"path":"/","sha256":"","at":"","files":[],"rules":[{"effect":"allow"}]}]}',
  ]) {
    test(`B1.7: a list of trusted projects that is damaged ends a command without a person to ask: ${text}`, async () => {
      await using command = await trusted();
      writeFileSync(trustFile(command), text);
      await assert.rejects(command.run(MARK, { yes: true }), { exitCode: 3 });
      assert.equal(existsSync(join(command.root, "marker")), false);
    });
  }

  test("B4.2: --bare continues without the project, and trust that is given again heals, so the rows above can fail", async () => {
    await using command = await trusted();
    command.write("repository/AGENTS.md", "x\n");
    await command.run(MARK, { yes: true, bare: true });
    assert.equal(existsSync(join(command.root, "marker")), true);
    await command.trust();
    const { agents } = await command.run({ sous: [saying("Hello.")] });
    assert.deepEqual(agents, ["scout"]);
  });

  test("B4.2: sous run, sous chat through a pipe and -p end with 3 and one line", async () => {
    await using command = await trusted();
    writeFileSync(join(command.path, "answers.json"), JSON.stringify(MARK));
    command.write("repository/AGENTS.md", "x\n");
    const home = join(command.path, "home");
    const env = { HOME: home, XDG_DATA_HOME: "", XDG_CONFIG_HOME: "", XDG_STATE_HOME: "", PATH: "/usr/bin:/bin" };
    const model = ["--model", `script/${join(command.path, "answers.json")}`, "--yes", "--ephemeral"];
    for (const parameters of [["run", "Go."], ["chat"]]) {
      const given = { cwd: command.root, parameters: [...parameters, ...model], env, input: "Go.\n" };
      const { code, stdout, stderr } = await runProcess(given);
      assert.deepEqual([code, stdout, stderr.trim().split("\n").length], [3, "", 1], stderr);
      assert.match(stderr, /changed AGENTS\.md/);
    }
    assert.equal(existsSync(join(command.root, "marker")), false);
  });
});

suite("B4.2: a write that the person allowed keeps the trust of the project, and nothing else does", () => {
  const notes = (content: string) => ({
    sous: [calling(["write_file", { path: "AGENTS.md", content }]), saying("Done.")],
  });
  const changing = {
    sous: [calling(["edit_file", { path: "AGENTS.md", old: "brief", new: "exact" }]), saying("Done.")],
  };

  test("B4.2: write_file and edit_file of the notes keep the trust, one after the other", async () => {
    await using command = await trusted();
    for (const script of [notes("Be brief, please.\n"), changing]) {
      await command.run(script, { yes: true }, { ask: () => YES });
      assert.equal(await command.state(), "trusted");
    }
    assert.equal(readFileSync(join(command.root, "AGENTS.md"), "utf8"), "Be exact, please.\n");
    // The rules of before are still there when trust is lost later.
    command.write("repository/AGENTS.md", "x\n");
    await command.run(MARK, { yes: true }, { ask: () => YES });
    assert.equal(existsSync(join(command.root, "marker")), false);
  });

  test("B4.2: a write keeps the trust when the notes were not there, or are a link to another file of the project", async () => {
    await using command = await openCommand({ "repository/.sous/config.yaml": "", "repository/CLAUDE.md": "x\n" });
    await command.trust();
    await command.run(notes("New.\n"), {}, { ask: () => YES });
    assert.equal(await command.state(), "trusted");
    rmSync(join(command.root, "AGENTS.md"));
    symlinkSync("CLAUDE.md", join(command.root, "AGENTS.md"));
    await command.trust();
    const script = { sous: [calling(["write_file", { path: "CLAUDE.md", content: "y\n" }]), saying("Done.")] };
    await command.run(script, {}, { ask: () => YES });
    assert.equal(await command.state(), "trusted");
  });

  const others: [what: string, act: (command: Command) => void][] = [
    [
      "another file that is changed while the person is asked",
      ({ write }) => write("repository/.sous/config.yaml", ""),
    ],
    [
      "notes that are changed while the person is asked",
      ({ write }) => write("repository/AGENTS.md", "Be brief.\nEVIL\n"),
    ],
    ["an agent that is added while the person is asked", ({ write }) => write("repository/.sous/agents/evil.md", "x")],
    [
      "trust that is taken back meanwhile",
      (command) => writeFileSync(trustFile(command), '{"version":1,"projects":[]}'),
    ],
  ];
  for (const [what, act] of others) {
    for (const [tool, script] of Object.entries({ write_file: notes("Mine.\n"), edit_file: changing })) {
      test(`B4.2: the trust does not survive ${what}, by ${tool}`, async () => {
        await using command = await trusted();
        const ask = () => {
          act(command);
          return YES;
        };
        await command.run(script, {}, { ask });
        assert.notEqual(await command.state(), "trusted");
      });
    }
  }

  test("B4.2: a project that was not trusted is not trusted by a write", async () => {
    await using command = await openCommand(PROJECT);
    await command.run(notes("Mine.\n"), {}, { ask: () => YES });
    assert.equal(await command.state(), "unknown");
  });

  test("B4.2: a no of the person changes neither the notes nor the trust", async () => {
    await using command = await trusted();
    await command.run(notes("Mine.\n"), { yes: true }, { ask: () => ({ allow: false }) });
    assert.equal(await command.state(), "trusted");
    assert.equal(readFileSync(join(command.root, "AGENTS.md"), "utf8"), "Be brief.\n");
  });

  test("B4.2: a file that the notes link to, whatever its name, is asked about", async () => {
    await using command = await openCommand({ "repository/docs/notes.md": "x\n" });
    symlinkSync("docs/notes.md", join(command.root, "AGENTS.md"));
    await command.trust();
    const script = { sous: [calling(["write_file", { path: "docs/notes.md", content: "EVIL" }]), saying("Done.")] };
    await command.run(script, { yes: true });
    assert.equal(readFileSync(join(command.root, "docs/notes.md"), "utf8"), "x\n");
    assert.equal(await command.state(), "trusted");
  });
});

suite("B1.7: rules of a project about paths begin at its top, wherever in it we work", () => {
  const files = {
    "repository/.sous/config.yaml":
      'permissions: [ { deny: "write_file(infra/prod.yaml)" }, { deny: "write_file(/locked/**)" } ]\n',
    "repository/infra/": "",
    "repository/locked/x/.git/HEAD": "",
  };
  const rows: [cwd: string, path: string][] = [
    [".", "infra/prod.yaml"],
    ["infra", "prod.yaml"],
    ["locked/x", "a"],
  ];
  for (const [cwd, path] of rows) {
    test(`B1.7: a rule of the project denies ${path} in ${cwd}`, async () => {
      await using command = await openCommand(files);
      await command.trust();
      const script = { sous: [calling(["write_file", { path, content: "x" }]), saying("Done.")] };
      await command.run(script, { yes: true }, { cwd: join(command.root, cwd) });
      assert.equal(existsSync(join(command.root, cwd, path)), false);
    });
  }
});
