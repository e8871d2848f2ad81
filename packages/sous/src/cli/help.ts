/** What `sous --help` prints, for all commands and for each, and what is said about a command this build does not have. */

import { inertLine } from "./inert.ts";
import { nearest } from "./nearest.ts";

const HELP = `sous: agents that delegate

usage: sous <command> [options]

commands
  demo            a real tree of agents over the files of this folder, on a
                  scripted model: no key, no network
  replay          look at runs that were kept, play them again, compare them
  resume          go on with a run after a crash or a stop

options
  -h, --help      this text; sous <command> --help says more about a command
  -V, --version   the version

Runs are kept in $XDG_DATA_HOME/sous/sous.db (~/.local/share/sous/sous.db), or
where SOUS_DB_PATH or --db-path says.

exit codes
  0  done                              5  budget spent
  1  a run failed, an id is unknown,   6  out of turns, or out of time
     or a database cannot be used      7  consent was needed, nobody was there
  2  usage                             8  a recording does not match
  4  a key is missing or refused       130, 143  stopped by a signal

Everything else sous can do so far is in the library:
  import { agent, run, tool } from "sous";
`;

const PLACE = `      --db-path FILE     the database; else SOUS_DB_PATH, else the default
                         $XDG_DATA_HOME/sous/sous.db`;

const REQUIRE = `      --require-store    fail when the run cannot be kept, instead of going on`;

const DISPLAY = `      --ascii            plain glyphs
      --color WHEN       auto (default), always or never; NO_COLOR and
                         FORCE_COLOR are heard too
  -h, --help             this text`;

const DEMO = `sous demo: a real tree of agents over the files of this folder

The model is scripted: no key, no network. Agents, tools, limits and files are
real. The run is kept, and sous replay shows it again.

usage: sous demo [options]

options
      --ephemeral        keep nothing
${REQUIRE}
${PLACE}
${DISPLAY}

examples
  sous demo
  sous replay --tree --id last
`;

const REPLAY = `sous replay: look at runs that were kept, play them again, compare them

usage: sous replay --list [--limit 10] [--offset 0] [--status S] [--since 7d]
       sous replay --id ID [--full | --request N]
       sous replay --tree --id ID
       sous replay --rerun --id ID [--live-tools]
       sous replay --diff ID ID
       sous replay --export md|json|html --id ID [--output FILE]
       sous replay --save-cassette FILE --id ID
       sous replay --import FILE | --backup FILE | --prune 30d

ID is a whole id, at least 6 characters of its beginning, or "last" for the
newest root.

look
  -l, --list             all runs, newest first; roots are marked
      --status S         completed, incomplete, failed, cancelled, timeout,
                         budget_exceeded, refused, interrupted or running
      --since WHEN       started since then: 45m, 12h, 7d, 2w or a date
      --limit N          so many (10)
      --offset N         behind so many
  -i, --id ID            one run: what it was, its task and its messages
      --full             long texts whole
      --request N        the N-th request to the model, exactly as it was sent
  -t, --tree             with --id: its whole tree, with turns, tools, tokens,
                         cost and time

again
      --rerun            with --id: its tree once more from the recorded
                         answers, without network; ends with 8 if it differs
      --live-tools       with --rerun: run the tools again, too
      --diff ID ID       two runs of one task side by side

out, in and away
      --export FORMAT    with --id: its tree as md, json or html
      --output FILE      where to, instead of stdout
      --save-cassette F  with --id: its tree as a cassette that tests play
      --import FILE      take in a tree that was exported as json
      --new-ids          with --import: give its runs new ids
      --backup FILE      a copy of the database, also while it is in use
      --prune AGE        forget trees that are older, such as 30d
      --force            replace the file of --output or --save-cassette

options
${PLACE}
      --json             one object for scripts
${DISPLAY}

examples
  sous replay --list --status failed --since 7d
  sous replay --tree --id last
  sous replay --id 01K2F8Q6ZV --request 3
  sous replay --export html --id last --output run.html
  sous replay --list --json | jq -r '.runs[] | select(.depth == 0).id'
`;

const RESUME = `sous resume: go on with a run after a crash or a stop

What is finished is not done again. The answer is on stdout, progress on
stderr, and the exit code is that of the run. Two processes cannot go on with
one run.

usage: sous resume [ID] [options]

ID is a whole id, at least 6 characters of its beginning, or "last". Without
one it is the newest run that was interrupted.

options
      --last             the newest root, whatever became of it
      --fork             go on in a copy, and leave the run as it is
      --at TURN          with --fork: go on behind this turn
      --budget +TOKENS   so many tokens more than it was given
${REQUIRE}
${PLACE}
      --json             the result as one object for scripts
${DISPLAY}

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
