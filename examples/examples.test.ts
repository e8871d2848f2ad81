/**
 * Every example runs without a key, on the package that is published, and prints what is in the file beside it: a step of the
 * ladder as a program of its own, the snippets of the pages together. A new folder is covered without being named here.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { packedSous } from "../packages/sous/test/support/packed-sous.ts";
import { rootFolder } from "../packages/sous/test/support/source-files.ts";
import {
  type PostgresServer,
  startPostgresServer,
} from "../packages/sous/test/support/storage/store/postgres-server.ts";
import { exampleFiles, exampleFolders } from "../scripts/repository-files.ts";

const start = promisify(execFile);
/** Relative to the root, here and in the project. */
const folders = exampleFolders(rootFolder);

/** A project outside of the repository, with nothing of it but the examples and the tarball. */
const project = mkdtempSync(join(tmpdir(), "sous-examples-"));
let installed: string;
let server: PostgresServer | undefined;
const BEGIN = "-- begin of ";

before(async () => {
  installed = (await packedSous()).project;
  symlinkSync(join(installed, "node_modules"), join(project, "node_modules"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  for (const folder of folders) cpSync(join(rootFolder, folder), join(project, folder), { recursive: true });
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(project, { recursive: true, force: true, maxRetries: 5 });
});

test("the ladder has its ten steps", () => {
  const steps = folders.filter((path) => path.startsWith("examples/")).map((path) => basename(path).slice(0, 2));
  assert.deepEqual(steps, ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10"]);
});

test("the examples import sous from the tarball, and no file of the repository", async () => {
  const line = 'console.log(import.meta.resolve("sous"), import.meta.resolve("sous/testing"))';
  writeFileSync(join(project, "resolve.ts"), line);
  const { stdout } = await start(process.execPath, ["resolve.ts"], { cwd: project });
  const dist = `file://${join(installed, "node_modules/sous/dist")}`;
  assert.equal(stdout.trim(), `${dist}/index.js ${dist}/testing.js`);
  const outside = folders.flatMap((folder) =>
    filesOf(folder).filter((file) => readFileSync(file, "utf8").includes('"../../')),
  );
  assert.deepEqual(outside, []);
});

suite("from the packed tarball", { concurrency: 3 }, () => {
  for (const folder of folders) {
    test(`${folder} prints what it promises; UPDATE_SNAPSHOTS=1 writes it again`, async () => {
      const actual = isStep(folder) ? await runStep(folder) : await printedBySnippet(folder);
      const expected = join(rootFolder, folder, "expected.txt");
      if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(expected, actual);
      assert.equal(actual, readFileSync(expected, "utf8"));
    });
  }
});

// A wrong one among them, because a check that finds nothing in it would find nothing in the others.
test("all examples type-check with strict against the declarations of the package, and a wrong type is found", async () => {
  const wrong = mkdtempSync(join(project, "wrong-type-"));
  writeFileSync(join(wrong, "main.ts"), 'import { agent } from "sous";\nexport const one = agent({ name: 1 });\n');
  const found = (await typeCheck([...folders, basename(wrong)])).split(/^(?=\S)/m);
  assert.equal(found.length, 1, found.join(""));
  assert.match(found[0] ?? "", /^wrong-type-.*Type 'number' is not assignable to type 'string'/);
});

/** The complaints of the compiler, as a project of a stranger would hear them. `pack.test.ts` looks at the declarations themselves. */
async function typeCheck(include: readonly string[]): Promise<string> {
  const compilerOptions = {
    module: "nodenext",
    strict: true,
    target: "esnext",
    lib: ["esnext"],
    types: ["node"],
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  const folder = mkdtempSync(join(project, "types-"));
  const config = { compilerOptions, include: include.map((name) => join(project, name)) };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(project, "node_modules/typescript/bin/tsc");
  const options = { cwd: project, env: { ...process.env, GOGC: "off" }, encoding: "utf8" } as const;
  return await start(process.execPath, [tsc, "-p", folder, "--singleThreaded"], options).then(
    ({ stdout }) => stdout,
    ({ stdout, message }) => stdout || message,
  );
}

/** A step of the ladder is a program that a reader starts; a snippet is part of a page. */
function isStep(folder: string): boolean {
  return folder.startsWith("examples/");
}

function runStep(folder: string): Promise<string> {
  return runProgram("main.ts", join(project, folder));
}

let snippets: Promise<Map<string, string>> | undefined;

/** All snippets run in one process, one after the other, which loads sous once. */
async function printedBySnippet(folder: string): Promise<string> {
  snippets ??= runSnippets(folders.filter((each) => !isStep(each)));
  return (await snippets).get(folder) ?? assert.fail(`${folder} did not run`);
}

async function runSnippets(wanted: readonly string[]): Promise<Map<string, string>> {
  const lines = wanted.map((folder) => {
    const path = join(project, folder);
    const main = pathToFileURL(join(path, "main.ts")).href;
    const [cd, begin, load] = [path, BEGIN + folder, main].map((text) => JSON.stringify(text));
    // An error that one of them throws is a difference in its own output.
    return `process.chdir(${cd}); console.log(${begin}); await import(${load}).catch(console.log);\n`;
  });
  writeFileSync(join(project, "snippets.mjs"), lines.join(""));
  server = await startPostgresServer();
  const printed = await runProgram("snippets.mjs", project, { DATABASE_URL: server.connectionString() });
  const parts = printed.split(BEGIN).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]));
}

/** Nothing of the environment but the path: an example that needs a key fails here. */
async function runProgram(file: string, cwd: string, more: Record<string, string> = {}): Promise<string> {
  const { PATH = "", TMPDIR = tmpdir() } = process.env;
  const env = { PATH, TMPDIR, NODE_COMPILE_CACHE: join(dirname(installed), "compiled"), ...more };
  const { stdout, stderr } = await start(process.execPath, [file], { cwd, env, timeout: 60_000 });
  assert.equal(stderr, "");
  return stdout;
}

function filesOf(folder: string): string[] {
  return exampleFiles(rootFolder)
    .filter((file) => file.startsWith(`${folder}/`) && /\.m?[jt]s$/.test(file))
    .map((file) => join(rootFolder, file));
}
