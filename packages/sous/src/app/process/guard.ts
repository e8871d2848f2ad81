/**
 * The guard: a small process that outlives us by a moment. It holds one end of a pipe; when the other end closes because we
 * are gone, however that came about, it kills the process groups it was told about and everything that carries our mark.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { ProcessEntry } from "./process-table.ts";

export type Guarded = Pick<ProcessEntry, "pid" | "start">;

export class Guard {
  readonly #mark: string;
  readonly #environment: Record<string, string>;
  readonly #groups = new Map<number, Guarded>();
  #child: ChildProcessByStdio<Writable, null, null> | undefined;
  #ended: Promise<void> = Promise.resolve();
  #starts = 0;

  constructor(mark: string, environment: Record<string, string>) {
    this.#mark = mark;
    this.#environment = environment;
  }

  /** Starts the guard before anything that it must guard. False when there is no guard. */
  stand(): boolean {
    if (this.#child !== undefined) return true;
    if (this.#starts >= MAX_STARTS) return false;
    const child = spawn("/bin/sh", ["-c", SCRIPT, "sous-guard", this.#mark], {
      cwd: "/",
      env: this.#environment,
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    // Without a file descriptor to spare there is not even a pipe.
    if (child.pid === undefined) {
      child.once("error", () => {});
      return false;
    }
    this.#starts += 1;
    this.#child = child;
    // It must not keep us from ending: our end is what it waits for.
    child.unref();
    child.on("error", () => {});
    (child.stdin as Socket).unref();
    child.stdin.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      const end = () => {
        if (this.#child === child) this.#child = undefined;
        // It was killed, and what it guarded is still there.
        if (this.#groups.size > 0) this.stand();
        resolve();
      };
      child.once("exit", end);
    });
    for (const group of this.#groups.values()) this.#say(`+ ${group.pid} ${group.start}`);
    return true;
  }

  add(group: Guarded): void {
    this.#groups.set(group.pid, group);
    this.#say(`+ ${group.pid} ${group.start}`);
  }

  remove(pid: number): void {
    this.#groups.delete(pid);
    this.#say(`- ${pid}`);
  }

  /** There is nothing left to guard. */
  async dismiss(): Promise<void> {
    this.#groups.clear();
    if (this.#child === undefined) return;
    this.#child.ref();
    this.#child.stdin.end("end\n");
    await this.#ended;
  }

  #say(line: string): void {
    this.#child?.stdin.write(`${line}\n`);
  }
}

/** Once the guard was killed this often, no further programs are started. */
const MAX_STARTS = 50;

/**
 * A shell script, because a second Node would take 40 MB. A leader that began at another time than it should is another
 * process; one that is gone has left its number to its group, and one with our mark may have others in its group that threw the
 * mark away. Several rounds, because a program may be on its way from our fork to its exec when we die, and is only then
 * marked.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM PIPE USR1 USR2 TSTP TTIN TTOU
export LC_ALL=C
mark=$1
groups=' '
while read -r word pid start; do
  case $word in
    +) groups="$groups$pid:$start " ;;
    -)
      rest=' '
      for each in $groups; do
        case $each in "$pid":*) ;; *) rest="$rest$each " ;; esac
      done
      groups=$rest ;;
    end) exit 0 ;;
  esac
done
# guard: sweep-when-alone
quiet=0
for round in 1 2 3 4 5 6; do
  found=0
  for each in $groups; do
    pid=\${each%%:*}
    stat=
    { read -r stat < "/proc/$pid/stat"; } 2>/dev/null
    set -- \${stat##*) }
    if [ -z "\${20}" ] || [ "\${20}" = "\${each#*:}" ]; then
      kill -s KILL -- "-$pid" 2>/dev/null && found=1
    fi
  done
  for file in $(grep -lsF -e "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    pid=\${pid%/environ}
    [ "$pid" = "$$" ] && continue
    stat=
    { read -r stat < "/proc/$pid/stat"; } 2>/dev/null
    set -- \${stat##*) }
    # guard: kill-whole-groups
    [ "$3" = "$pid" ] && pid=-$pid
    kill -s KILL -- "$pid" 2>/dev/null && found=1
  done
  if [ "$found" = 0 ]; then quiet=$((quiet + 1)); else quiet=0; fi
  [ "$quiet" = 2 ] && exit 0
  sleep 0.1
done
`;
