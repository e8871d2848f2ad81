/** What `sous --help` prints, for all commands and for each, and what is said about a command this build does not have. */

import { inertLine } from "./inert.ts";
import { nearest } from "./nearest.ts";

const HELP = `sous: agents that delegate

usage: sous <command> [options]

commands
  demo            a real tree of agents over the files of this folder, on a scripted model: no key, no network
  replay          looks at runs that were kept: list, one run, its tree, again, side by side
  resume          goes on with a run after a crash or a stop

options
  -h, --help      this text; sous <command> --help says more about a command
  -V, --version   the version

Runs are kept in $XDG_DATA_HOME/sous/sous.db, or where SOUS_DB_PATH or --db-path says. Exit codes: 0 done, 1 a run failed or
an id is unknown, 2 usage, 4 a key is missing, 5 budget spent, 6 out of turns or time, 7 consent was needed, 8 a recording
does not match, 130 and 143 stopped by a signal.

Everything else sous can do so far is in the library: import { agent, run, tool } from "sous".
`;

const DISPLAY = `  --ascii                plain glyphs
  --color WHEN           auto (default), always or never; NO_COLOR and FORCE_COLOR are heard too
`;

const DEMO = `sous demo: a real tree of agents over the files of this folder, on a scripted model: no key, no network

usage: sous demo [options]

options
  --db-path FILE         keep the run there
  --ephemeral            keep nothing
  --require-store        fail when the run cannot be kept, instead of going on without
${DISPLAY}
Afterwards: sous replay --tree --id last
`;

const REPLAY = `sous replay: looks at runs that were kept

usage: sous replay --list [--limit 10] [--offset 0] [--status S] [--since 7d]
       sous replay --id ID [--full] [--request N]
       sous replay --tree --id ID
       sous replay --rerun --id ID [--live-tools]
       sous replay --diff ID ID
       sous replay --export md|json|html --id ID [--output FILE]
       sous replay --save-cassette FILE --id ID
       sous replay --import FILE | --prune 30d | --backup FILE

ID is a whole id, at least 6 characters of its beginning, or "last" for the newest root.

look
  -l, --list             all runs, newest first; roots are marked
      --status S         completed, incomplete, failed, cancelled, timeout, budget_exceeded, refused, interrupted, running
      --since WHEN       only what started since: 45m, 12h, 7d, 2w, or a date
      --limit N, --offset N
  -i, --id ID            one run: what it was, its task and its messages
      --full             long texts whole
      --request N        the N-th request to the model, as it was sent
  -t, --tree             with --id: the whole tree of that run, with turns, tools, tokens, cost and time
      --diff ID ID       two runs of one task side by side

again
      --rerun            with --id: once more from the recorded answers, without network; 8 when something differs
      --live-tools       with --rerun: run the tools instead of taking their recorded results

take out, put in, put away
      --export FORMAT    with --id: the tree as md, json or html, to stdout or --output FILE
      --save-cassette F  with --id: the tree as a cassette that tests can play
      --import FILE      a tree that was exported as json
      --backup FILE      a copy of the whole database, also while it is in use
      --prune AGE        forgets trees that are older, such as 30d
      --force            with --output, --save-cassette or --backup: replace the file

options
      --db-path FILE     the database; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db
      --json             one object for scripts; times in RFC 3339
${DISPLAY}
examples
  sous replay --list --status failed --since 7d
  sous replay --tree --id last
  sous replay --id 01K2F8Q6ZV --request 3
  sous replay --list --json | jq -r '.runs[] | select(.parent_id == null) | .id'
`;

const RESUME = `sous resume: goes on with a run after a crash or a stop; what is finished is not done again

usage: sous resume [ID] [options]

ID is a whole id, at least 6 characters of its beginning, or "last". Without one it is the newest run that was interrupted.

options
      --last             the newest root, whatever became of it
      --fork             go on in a copy and leave the run as it is
      --at TURN          with --fork: go on behind this turn
      --budget +TOKENS   so many tokens more than it was given
      --db-path FILE     the database; else SOUS_DB_PATH, else $XDG_DATA_HOME/sous/sous.db
      --require-store    fail when what happens cannot be kept, instead of going on without
${DISPLAY}
The answer is on stdout, progress on stderr; the exit code is that of the run. Two processes cannot go on with one run.

examples
  sous resume
  sous resume 01K2F8Q6ZV --budget +20000
  sous resume last --fork --at 2
`;

const PAGES: Readonly<Record<string, string>> = { demo: DEMO, replay: REPLAY, resume: RESUME };

/** The page of a command, or the one that names them all. */
export function helpOn(command: string | undefined): string {
  return (command !== undefined && Object.hasOwn(PAGES, command) ? PAGES[command] : undefined) ?? HELP;
}

/** The commands of the contract that are still to come. */
const LATER = [
  "chat",
  "run",
  "-p",
  "view",
  "agents",
  "acp",
  "mcp",
  "metrics",
  "worker",
  "config",
  "trust",
  "doctor",
  "completion",
];

export function complaintAbout(command: string, commands: readonly string[]): string {
  const name = command === "" ? "chat" : inertLine(command, 60);
  if (LATER.includes(name)) return `error: sous ${name} is not in this build. Try sous demo, or sous --help.\n`;
  const meant = nearest(name, commands) ?? "demo";
  return `error: There is no command ${JSON.stringify(name)}. Try sous ${meant}, or sous --help.\n`;
}
