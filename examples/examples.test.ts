/**
 * Every example runs as a program of its own, without a key, on the package that is published, and prints what is in the file
 * beside it. A new folder is covered without being named here.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
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
      const actual = await runExample(folder);
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

/** The complaints of the compiler, as a project of a stranger would hear them. Other resolutions are for attw, in `pack.test.ts`. */
async function typeCheck(include: readonly string[]): Promise<string> {
  const compilerOptions = {
    module: "nodenext",
    strict: true,
    target: "esnext",
    lib: ["esnext"],
    types: ["node"],
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: false,
  };
  const folder = mkdtempSync(join(project, "types-"));
  const config = { compilerOptions, include: include.map((name) => join(project, name)) };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(project, "node_modules/typescript/bin/tsc");
  const options = { cwd: project, env: { ...process.env, GOGC: "off" }, encoding: "utf8" } as const;
  const said = await start(process.execPath, [tsc, "-p", folder, "--singleThreaded"], options).then(
    ({ stdout }) => stdout,
    ({ stdout, message }) => stdout || message,
  );
  // What declarations of others get wrong is not ours: those of the AI SDK name types of browsers.
  const complaints = said.split(/^(?=\S)/m) as string[];
  return complaints.filter((each) => !/^\S*node_modules\/(?!sous\/)/.test(each)).join("");
}

/** Nothing of the environment but the path: an example that needs a key fails here. */
async function runExample(folder: string): Promise<string> {
  const { PATH = "", TMPDIR = tmpdir() } = process.env;
  const { stdout, stderr } = await start(process.execPath, ["main.ts"], {
    cwd: join(project, folder),
    env: { PATH, TMPDIR, NODE_COMPILE_CACHE: join(dirname(installed), "compiled"), ...(await databaseFor(folder)) },
    timeout: 60_000,
  });
  assert.equal(stderr, "");
  return stdout;
}

/** An example that names DATABASE_URL gets a server of its own. */
async function databaseFor(folder: string): Promise<Record<string, string>> {
  if (!filesOf(folder).some((file) => readFileSync(file, "utf8").includes("DATABASE_URL"))) return {};
  server ??= await startPostgresServer();
  return { DATABASE_URL: server.connectionString() };
}

function filesOf(folder: string): string[] {
  return exampleFiles(rootFolder)
    .filter((file) => file.startsWith(`${folder}/`) && /\.m?[jt]s$/.test(file))
    .map((file) => join(rootFolder, file));
}
