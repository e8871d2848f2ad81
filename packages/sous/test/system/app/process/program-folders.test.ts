/** Tests where programs come from. Every folder of PATH here holds a program that leaves a marker when it is started. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lchownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { suite, type TestContext, test } from "node:test";
import type { LeftOutFolder, ProgramWorkspace } from "../../../../src/app/process/program-folders.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { grepTool } from "../../../../src/app/tools/grep.ts";
import type { ProgramRequest } from "../../../../src/core/process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { answerOf } from "../../../support/app/tools/write-tools.ts";

/** A repository with a package in it, and folders beside it. */
class Lab implements AsyncDisposable {
  readonly path: string;
  readonly #remove: () => PromiseLike<void>;

  private constructor(path: string, remove: () => PromiseLike<void>) {
    this.path = path;
    this.#remove = remove;
  }

  static async open(): Promise<Lab> {
    const tree = await temporaryTree({
      "ran/": "",
      "home/": "",
      "outside/": "",
      "repository/packages/one/file.txt": "needle",
    });
    return new Lab(tree.path, () => tree[Symbol.asyncDispose]());
  }

  /** Not made shorter: dots and slashes stay as they are written. */
  in(name: string): string {
    return `${this.path}/${name}`;
  }

  /** A folder with a program `planted`, and one of every name that is started for people and tools. */
  plant(folder: string, names: readonly string[] = ["planted", "rg", "bash", "sh"]): void {
    mkdirSync(this.in(folder), { recursive: true });
    for (const name of names) {
      const text = `#!/bin/sh\n: > '${this.path}/ran/${name}'\n`;
      writeFileSync(join(this.in(folder), name), text, { mode: 0o755 });
    }
  }

  link(target: string, name: string): void {
    mkdirSync(dirname(this.in(name)), { recursive: true });
    symlinkSync(this.in(target), this.in(name));
  }

  workspace(trust: { inner?: boolean; outer?: boolean } = {}, cwd = "repository/packages/one"): ProgramWorkspace {
    const projects = [{ root: this.in("repository"), isTrusted: trust.inner === true }];
    if (trust.outer !== undefined) projects.push({ root: this.path, isTrusted: trust.outer });
    return { cwd: this.in(cwd), projects };
  }

  ran(): string[] {
    return readdirSync(join(this.path, "ran")).sort();
  }

  /** What was started by a search, by a key command, and by a command line. */
  async start(
    path: readonly string[],
    workspace: ProgramWorkspace = this.workspace(),
  ): Promise<readonly LeftOutFolder[]> {
    let leftOut: readonly LeftOutFolder[] = [];
    await using programs = openPrograms({
      environment: { PATH: [...path.map((each) => this.#given(each)), "/usr/bin", "/bin"].join(":") },
      workspace,
      onLeftOut: (folders) => {
        leftOut = folders;
      },
    });
    await answerOf(grepTool(workspace.cwd, programs), { pattern: "needle" }, workspace.cwd);
    await programs.run(command(workspace, "planted")).catch(() => {});
    await programs.run({ ...command(workspace, "bash"), args: ["-c", "planted; rg"], mayUseProject: true });
    return leftOut;
  }

  /** As written when it is no path of the lab: relative, or of the machine. */
  #given(folder: string): string {
    return folder.startsWith("@") ? folder.slice(1) : this.in(folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove();
  }
}

function command({ cwd }: ProgramWorkspace, program: string): ProgramRequest {
  return { program, args: [], cwd, maxOutputBytes: 4096 };
}

const { getuid = () => 0 } = process;

/** Makes a file or folder look as if another user owned it; without the right to do so, as if we were another user. */
function giveAway(path: string, t: TestContext): void {
  if (getuid() === 0) {
    lchownSync(path, 54_321, 54_321);
    return;
  }
  process.getuid = () => 54_321;
  t.after(() => {
    process.getuid = getuid;
  });
}

type Row = [what: string, path: readonly string[], prepare: (lab: Lab, t: TestContext) => void];

const STRANGE: readonly Row[] = [
  ["the bin folder of the project", ["repository/bin"], (lab) => lab.plant("repository/bin")],
  ["the project itself", ["repository"], (lab) => lab.plant("repository")],
  ["a virtual environment of the project", ["repository/.venv/bin"], (lab) => lab.plant("repository/.venv/bin")],
  [
    "node_modules/.bin of the package, of the repository and of every folder above",
    ["repository/packages/one/node_modules/.bin", "repository/node_modules/.bin", "node_modules/.bin"],
    (lab) => {
      lab.plant("repository/packages/one/node_modules/.bin");
      lab.plant("repository/node_modules/.bin");
      lab.plant("node_modules/.bin");
    },
  ],
  [
    "another folder in a node_modules above the project",
    ["node_modules/tool/bin"],
    (lab) => lab.plant("node_modules/tool/bin"),
  ],
  [
    "a node_modules above the project that is a link",
    ["node_modules/.bin"],
    (lab) => {
      lab.plant("elsewhere/.bin");
      lab.link("elsewhere", "node_modules");
    },
  ],
  ["a path with dots", ["outside/../repository/bin"], (lab) => lab.plant("repository/bin")],
  ["a path with doubled slashes", [".//repository//./bin/"], (lab) => lab.plant("repository/bin")],
  [
    "a link into the project",
    ["outside/link"],
    (lab) => {
      lab.plant("repository/bin");
      lab.link("repository/bin", "outside/link");
    },
  ],
  [
    "a link to a link into the project",
    ["outside/second/bin"],
    (lab) => {
      lab.plant("repository/bin");
      lab.link("repository", "outside/first");
      lab.link("outside/first", "outside/second");
    },
  ],
  [
    "a link of the project that leads outside",
    ["repository/link"],
    (lab) => {
      lab.plant("outside/tools");
      lab.link("outside/tools", "repository/link");
    },
  ],
  [
    "a path that goes through a link and back up",
    ["outside/link/../bin"],
    (lab) => {
      lab.plant("repository/bin");
      mkdirSync(lab.in("repository/deep"));
      lab.link("repository/deep", "outside/link");
    },
  ],
  ["the working folder, as a dot", ["@."], (lab) => lab.plant("repository/packages/one")],
  ["the working folder, as nothing", ["@"], (lab) => lab.plant("repository/packages/one")],
  ["a relative folder", ["@bin", "@../../bin"], (lab) => lab.plant("repository/packages/one/bin")],
  ["a tilde, which bash expands in PATH", ["@~/bin"], (lab) => lab.plant("home/bin")],
  ["the working folder of the process", ["@/proc/self/cwd"], (lab) => lab.plant("repository/packages/one")],
  ["a folder of the process", ["@/proc/self/cwd/bin"], (lab) => lab.plant("repository/packages/one/bin")],
  [
    "a folder that everybody can write",
    ["outside/open"],
    (lab) => {
      lab.plant("outside/open");
      chmodSync(lab.in("outside/open"), 0o777);
    },
  ],
  [
    "a folder like /tmp that everybody can add to",
    ["outside/sticky"],
    (lab) => {
      lab.plant("outside/sticky");
      chmodSync(lab.in("outside/sticky"), 0o1777);
    },
  ],
  [
    "a folder like /tmp, reached from a folder in it",
    ["outside/sticky/folder/.."],
    (lab) => {
      lab.plant("outside/sticky");
      mkdirSync(lab.in("outside/sticky/folder"));
      chmodSync(lab.in("outside/sticky"), 0o1777);
    },
  ],
  [
    "a folder below one that everybody can write",
    ["outside/open/bin"],
    (lab) => {
      lab.plant("outside/open/bin");
      chmodSync(lab.in("outside/open"), 0o777);
    },
  ],
  [
    "a folder of another user",
    ["outside/theirs"],
    (lab, t) => {
      lab.plant("outside/theirs");
      giveAway(lab.in("outside/theirs"), t);
    },
  ],
  [
    "a folder below one of another user",
    ["outside/theirs/bin"],
    (lab, t) => {
      lab.plant("outside/theirs/bin");
      giveAway(lab.in("outside/theirs"), t);
    },
  ],
  [
    "a link of another user in a folder like /tmp",
    ["outside/sticky/link"],
    (lab, t) => {
      lab.plant("outside/tools");
      lab.link("outside/tools", "outside/sticky/link");
      chmodSync(lab.in("outside/sticky"), 0o1777);
      giveAway(lab.in("outside/sticky/link"), t);
    },
  ],
  [
    "a link in a folder that everybody can write",
    ["outside/open/link"],
    (lab) => {
      lab.plant("outside/tools");
      lab.link("outside/tools", "outside/open/link");
      chmodSync(lab.in("outside/open"), 0o777);
    },
  ],
];

suite("B4.1: no program of a project or of another user is started, wherever PATH begins", () => {
  for (const [what, path, prepare] of STRANGE) {
    test(`B4.1: no foreign program is started: ${what}`, async (t) => {
      await using lab = await Lab.open();
      prepare(lab, t);
      await lab.start(path);
      assert.deepEqual(lab.ran(), []);
    });
  }

  test("B4.1: a folder outside is used, so the rows above can fail", async () => {
    await using lab = await Lab.open();
    lab.plant("outside/tools", ["planted", "rg"]);
    await lab.start(["outside/tools"]);
    assert.deepEqual(lab.ran(), ["planted", "rg"]);
  });

  test("B4.1: a link in a folder outside to a program of the project is not a program of ours", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/bin", ["rg", "bash", "planted"]);
    for (const name of ["rg", "bash", "planted"]) lab.link(`repository/bin/${name}`, `outside/tools/${name}`);
    await using programs = openPrograms({
      environment: { PATH: `${lab.in("outside/tools")}:/usr/bin:/bin` },
      workspace: lab.workspace({ inner: true }),
    });
    assert.equal(await programs.find("planted"), undefined);
    assert.equal(await programs.find("rg"), existsSync("/usr/bin/rg") ? "/usr/bin/rg" : undefined);
    await assert.rejects(programs.run(command(lab.workspace(), "planted")), /outside the project/);
    await programs.run({ ...command(lab.workspace(), "bash"), args: ["-c", "true"] });
    assert.deepEqual(lab.ran(), []);
  });

  test("B4.1: a program that everybody can write is not a program of ours", async (t) => {
    await using lab = await Lab.open();
    lab.plant("outside/tools", ["open", "theirs", "ours"]);
    chmodSync(lab.in("outside/tools/open"), 0o777);
    await using programs = openPrograms({ environment: { PATH: lab.in("outside/tools") }, workspace: lab.workspace() });
    assert.equal(await programs.find("ours"), lab.in("outside/tools/ours"));
    assert.equal(await programs.find("open"), undefined);
    giveAway(lab.in("outside/tools/theirs"), t);
    assert.equal(await programs.find("theirs"), undefined);
  });

  test("B4.1: an absolute path into the project is refused, trusted or not; one outside is the user's word", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/bin");
    lab.plant("outside/open", ["word"]);
    chmodSync(lab.in("outside/open"), 0o777);
    lab.link("repository/bin/planted", "outside/link");
    const names = ["repository/bin/planted", "outside/link", "outside/../repository/bin/planted"];
    for (const inner of [false, true]) {
      const workspace = lab.workspace({ inner });
      await using programs = openPrograms({ environment: { PATH: "/usr/bin:/bin" }, workspace });
      for (const name of names)
        await assert.rejects(programs.run(command(workspace, lab.in(name))), /outside the project/);
      for (const name of ["./planted", "bin/planted", "../../bin/planted", "", "."])
        assert.equal(await programs.find(name), undefined);
      await programs.run(command(workspace, lab.in("outside/open/word")));
    }
    assert.deepEqual(lab.ran(), ["word"]);
  });

  test("B4.1: a PATH of which nothing is left is not the working folder", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/packages/one", ["planted"]);
    writeFileSync(lab.in("outside/key"), "#!/bin/sh\nplanted\n", { mode: 0o755 });
    for (const PATH of ["", undefined, lab.in("repository")]) {
      await using programs = openPrograms({ environment: { PATH }, workspace: lab.workspace() });
      await programs.run(command(lab.workspace(), lab.in("outside/key")));
      await programs.run({ ...command(lab.workspace(), "/bin/bash"), args: ["-c", "planted"], mayUseProject: true });
    }
    assert.deepEqual(lab.ran(), []);
  });

  test("B4.1: a folder of PATH that is made into a link to the project later is not used any more", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/bin", ["planted"]);
    mkdirSync(lab.in("outside/tools"));
    await using programs = openPrograms({
      environment: { PATH: `${lab.in("outside/tools")}:/usr/bin:/bin` },
      workspace: lab.workspace(),
    });
    assert.equal(await programs.find("planted"), undefined);
    rmSync(lab.in("outside/tools"), { recursive: true, maxRetries: 5 });
    lab.link("repository/bin", "outside/tools");
    await programs.run({ ...command(lab.workspace(), "bash"), args: ["-c", "planted"], mayUseProject: true });
    assert.deepEqual(lab.ran(), []);
  });

  test("B4.1: the shell and the home of a project are not passed on, nor relative ones", async () => {
    await using lab = await Lab.open();
    lab.plant("repository", ["shell"]);
    const shown = async (environment: Record<string, string>, workspace = lab.workspace()) => {
      await using programs = openPrograms({ environment: { PATH: "/usr/bin:/bin", ...environment }, workspace });
      const args = ["-c", "tr '\\0' '\\n' < /proc/$$/environ | grep -E '^(HOME|SHELL)='"];
      const { output } = await programs.run({ ...command(workspace, "sh"), args });
      return output.head;
    };
    for (const [HOME, SHELL] of [
      [lab.in("repository/home"), lab.in("repository/shell")],
      [".", "./shell"],
    ] as const) {
      const text = await shown({ HOME, SHELL });
      assert.doesNotMatch(text, /SHELL=/);
      assert.doesNotMatch(text, /HOME=(?:\.|.*repository)/);
    }
    const kept = { HOME: lab.in("home"), SHELL: "/bin/sh" };
    assert.deepEqual((await shown(kept)).split("\n").sort(), ["", `HOME=${kept.HOME}`, "SHELL=/bin/sh"]);
  });
});

suite("Programs of a trusted project, for command lines", () => {
  test("programs of the project are found again in the order of the user's PATH; programs of ours still come from outside", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/node_modules/.bin", ["planted", "rg", "bash", "sh"]);
    mkdirSync(lab.in("outside/tools"));
    await using programs = openPrograms({
      environment: { PATH: `${lab.in("repository/node_modules/.bin")}:${lab.in("outside/tools")}:/usr/bin:/bin` },
      workspace: lab.workspace({ inner: true }),
    });
    const cwd = lab.workspace().cwd;
    const shell = { ...command(lab.workspace(), "bash"), args: ["-c", "echo $PATH"] };
    const { output } = await programs.run({ ...shell, mayUseProject: true });
    const folders = output.head.trim().split(":");
    assert.deepEqual(folders, [lab.in("repository/node_modules/.bin"), lab.in("outside/tools"), "/usr/bin", "/bin"]);
    assert.doesNotMatch((await programs.run(shell)).output.head, /repository/);
    await answerOf(grepTool(cwd, programs), { pattern: "needle" }, cwd);
    await assert.rejects(programs.run(command(lab.workspace(), "planted")), /outside the project/);
    assert.deepEqual(lab.ran(), []);
    await programs.run({ ...shell, args: ["-c", "planted"], mayUseProject: true });
    assert.deepEqual(lab.ran(), ["planted"]);
  });

  test("B4.1: trust in a project brings back no folder above it, and none that everybody can write", async () => {
    await using lab = await Lab.open();
    lab.plant("node_modules/.bin", ["planted"]);
    lab.plant("repository/open", ["planted"]);
    chmodSync(lab.in("repository/open"), 0o777);
    const leftOut = await lab.start(["node_modules/.bin", "repository/open"], lab.workspace({ inner: true }));
    assert.deepEqual(lab.ran(), []);
    assert.deepEqual(
      leftOut.map(({ folder, why }) => [folder, why]),
      [
        [lab.in("node_modules/.bin"), "above"],
        [lab.in("repository/open"), "others-write"],
      ],
    );
  });

  test("B4.1: a folder belongs to the innermost project around it, whichever of them is trusted", async () => {
    for (const [trust, ran] of [
      [{ inner: true, outer: false }, ["inner"]],
      [{ inner: false, outer: true }, ["outer"]],
      [{ inner: false, outer: false }, []],
    ] as const) {
      await using lab = await Lab.open();
      lab.plant("repository/bin", ["inner"]);
      lab.plant("bin", ["outer"]);
      await using programs = openPrograms({
        environment: { PATH: `${lab.in("repository/bin")}:${lab.in("bin")}:/usr/bin:/bin` },
        workspace: lab.workspace(trust),
      });
      await programs.run({ ...command(lab.workspace(), "bash"), args: ["-c", "inner; outer"], mayUseProject: true });
      assert.deepEqual(lab.ran(), ran);
    }
  });

  test("programs of the project are found where another user owns all of it, as in a container", async (t) => {
    await using lab = await Lab.open();
    lab.plant("repository/bin", ["planted"]);
    for (const name of ["repository", "repository/bin", "repository/bin/planted"]) giveAway(lab.in(name), t);
    for (const inner of [false, true]) {
      await using programs = openPrograms({
        environment: { PATH: `${lab.in("repository/bin")}:/usr/bin:/bin` },
        workspace: lab.workspace({ inner }),
      });
      await programs.run({ ...command(lab.workspace(), "bash"), args: ["-c", "planted"], mayUseProject: true });
      assert.deepEqual(lab.ran(), inner ? ["planted"] : []);
    }
  });

  test("a folder that the command makes itself is found in a trusted project", async () => {
    await using lab = await Lab.open();
    await using programs = openPrograms({
      environment: { PATH: `${lab.in("repository/late")}:/usr/bin:/bin` },
      workspace: lab.workspace({ inner: true }),
    });
    const args = ["-c", "mkdir ../../late; printf '#!/bin/sh\\necho made' > ../../late/x; chmod +x ../../late/x; x"];
    const { output } = await programs.run({ ...command(lab.workspace(), "bash"), args, mayUseProject: true });
    assert.equal(output.head, "made\n");
  });

  test("a folder that is left out is told once, at the first command line, and one that is not there never", async () => {
    await using lab = await Lab.open();
    lab.plant("repository/bin", ["planted"]);
    const told: string[][] = [];
    const open = (path: readonly string[]) =>
      openPrograms({
        environment: { PATH: [...path.map((each) => lab.in(each)), "/usr/bin", "/bin"].join(":") },
        workspace: lab.workspace(),
        onLeftOut: (folders) => void told.push(folders.map(({ folder }) => folder)),
      });
    const shell = { ...command(lab.workspace(), "bash"), args: ["-c", "true"] };
    await using some = open(["repository/bin", "repository/bin", "repository/missing", "node_modules/.bin"]);
    await some.run(shell);
    assert.deepEqual(told, []);
    for (const _ of [1, 2]) await some.run({ ...shell, mayUseProject: true });
    assert.deepEqual(told, [[lab.in("repository/bin")]]);
    await using none = open(["repository/missing", "nowhere", "node_modules/.bin"]);
    await none.run({ ...shell, mayUseProject: true });
    assert.equal(told.length, 1);
  });

  test("a folder of ours below /tmp, links of ours and hard links are used as ever", async () => {
    await using lab = await Lab.open();
    lab.plant("outside/tools", ["one"]);
    linkSync(lab.in("outside/tools/one"), lab.in("outside/tools/two"));
    lab.link("outside/tools", "outside/link");
    await using programs = openPrograms({ environment: { PATH: lab.in("outside/link") }, workspace: lab.workspace() });
    assert.equal(await programs.find("two"), lab.in("outside/link/two"));
    assert.equal(realpathSync(lab.in("outside/link")), lab.in("outside/tools"));
  });
});
