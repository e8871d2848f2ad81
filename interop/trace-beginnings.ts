/** R14: the log of opens and execs of every beginning in a hostile repository, as `strace` writes it. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  beginnings,
  hostileEnvironment,
  hostilePackage,
  hostileRepository,
} from "../packages/sous/test/figures/r14-hostile-repository.ts";

const MAIN = join(import.meta.dirname, "../packages/sous/src/app/cli/main.ts");

/** What was missed. */
export function* traceBeginnings(): Generator<string> {
  using hostile = hostileRepository({ asPipes: false });
  const log = join(hostile.home, "..", "trace.txt");
  for (const parameters of beginnings(hostile.script)) {
    const calls = "trace=open,openat,openat2,execve,execveat,readlink,readlinkat";
    const command = ["-f", "-o", log, "-e", calls, process.execPath, "--conditions=sous-source", MAIN, ...parameters];
    const { status } = spawnSync("strace", command, {
      cwd: hostile.folder,
      env: hostileEnvironment(hostile),
      stdio: ["ignore", "ignore", "ignore"],
    });
    const lines = readFileSync(log, "utf8").split("\n");
    const execs = lines.filter((line) => /\bexecve(at)?\(/.test(line));
    const opens = lines.filter((line) => /\bopen(at2?)?\(/.test(line) && line.includes(`${hostile.folder}/`));
    const name = `R14 sous ${parameters.join(" ")}`;
    if (execs.length !== 1 || opens.length > 0 || status === null) {
      yield `${name}: ${execs.length - 1} programs started, ${opens.length} files opened\n${[...execs.slice(1), ...opens].join("\n")}`;
    } else console.log(`reached ${name}: 0 programs started, 0 files of the project opened (${lines.length} calls)`);
  }
  if (hostile.markers().length > 0) yield `R14: programs of the repository ran: ${hostile.markers().join(", ")}`;
}

/** Tools and an allowed command, with the PATH that npx makes: which programs were started, and whose they were. */
export function* traceHostilePath(): Generator<string> {
  using hostile = hostilePackage([process.execPath, "--conditions=sous-source", MAIN]);
  const log = join(hostile.home, "trace.txt");
  const command = ["-f", "-o", log, "-e", "trace=execve,execveat", "npx", "--no", "-c", hostile.script];
  const env = { PATH: process.env.PATH, HOME: hostile.home, TERM: "dumb" };
  spawnSync("strace", command, { cwd: hostile.folder, env, stdio: "ignore" });
  const execs = readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => /\bexecve(at)?\(/.test(line));
  // Behind our own start: what npm has started before is npm's own affair.
  const ours = execs.slice(execs.findLastIndex((line) => line.includes(`"${process.execPath}"`)) + 1);
  const theirs = ours.filter((line) => /execve(at)?\([^"]*"[^"]*node_modules\/\.bin\//.test(line));
  const hasGit = ours.some((line) => line.includes('/git", ["git", "status"'));
  if (theirs.length > 0 || !hasGit || hostile.markers().length > 0)
    yield `R14 with a hostile PATH: ${theirs.length} programs of the project tried\n${theirs.join("\n")}`;
  else console.log(`reached R14 with a hostile PATH: 0 programs of the project among ${ours.length}`);
}
