/** R14: the log of opens and execs of every beginning in a hostile repository, as `strace` writes it. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beginnings, hostileEnvironment, hostileRepository } from "../test/figures/r14-hostile-repository.ts";

const MAIN = join(import.meta.dirname, "../src/cli/main.ts");

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
