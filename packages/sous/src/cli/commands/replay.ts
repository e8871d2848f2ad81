/** `sous replay`: inspects stored runs, plays them again, exports, imports and deletes them. */

import { usageError } from "../exit-codes.ts";
import type { Replay } from "../replay/request.ts";
import { findDatabase } from "../stored/database.ts";
import { quoted, readOptions, refusePositionals } from "../table/options.ts";
import { REPLAY } from "../table/replay-entry.ts";
import { openOutput } from "../terminal/output.ts";

const COMMAND = "sous replay";

/** What it can be asked for; exactly one of them. */
const ACTIONS = ["list", "id", "diff", "import", "prune", "backup"] as const;
/** What it can do with one run; at most one of them. */
const WITH_ID = ["tree", "request", "rerun", "export", "save-cassette"] as const;

export async function replay(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(REPLAY, parameters);
  const action = chooseAction(values, positionals);
  const display = { color: values.color, isAscii: values.ascii };
  const flags = { dbPath: values["db-path"], configFile: values.config };
  const parts: Replay = {
    values,
    file: await findDatabase(flags, { cwd: process.cwd(), env: process.env }),
    flags,
    output: openOutput(process.stdout, display),
  };
  switch (action) {
    case "list":
      return (await import("../replay/list.ts")).replayList(parts);
    case "tree":
      return (await import("../replay/show.ts")).replayTree(parts);
    case "id":
    case "request":
      return (await import("../replay/show.ts")).replayShow(parts);
    case "export":
      return (await import("../replay/export.ts")).replayExport(parts);
    case "import":
      return (await import("../replay/export.ts")).replayImport(parts);
    case "backup":
      return (await import("../replay/export.ts")).replayBackup(parts);
    case "prune":
      return (await import("../replay/export.ts")).replayPrune(parts);
    case "rerun":
      return (await import("../replay/rerun.ts")).replayRerun(parts);
    case "diff":
      return (await import("../replay/diff.ts")).replayDiff(parts, positionals[0] ?? "");
    case "save-cassette":
      return (await import("../replay/export.ts")).replayCassette(parts);
    default:
      return action satisfies never;
  }
}

type Action = (typeof ACTIONS)[number] | (typeof WITH_ID)[number];

function chooseAction(values: Replay["values"], positionals: readonly string[]): Action {
  const asked = ACTIONS.filter((name) => isGiven(values[name]));
  const [action, other] = asked;
  if (action === undefined) {
    const hint = positionals[0] === undefined ? "" : ` Did you mean ${COMMAND} --id ${quoted(positionals[0])}?`;
    throw usageError(`${COMMAND} needs --list, or --id ID.${hint}\n\n${USAGE}`);
  }
  if (other !== undefined) throw usageError(`${COMMAND} does one thing at a time: --${action} or --${other}`);
  checkPositionals(action, positionals);
  const withId = WITH_ID.filter((name) => isGiven(values[name]));
  const [special, second] = withId;
  if (special === undefined) return action;
  if (action !== "id") throw usageError(`--${special} needs --id ID`);
  if (second !== undefined) throw usageError(`${COMMAND} does one thing at a time: --${special} or --${second}`);
  return special;
}

function isGiven(value: string | boolean | undefined): boolean {
  return value !== undefined && value !== false;
}

function checkPositionals(action: Action, positionals: readonly string[]): void {
  const taken = action === "diff" ? 1 : 0;
  if (positionals.length < taken) throw usageError("--diff takes two ids: sous replay --diff ID ID");
  refusePositionals(COMMAND, positionals.slice(taken));
}

const USAGE = `usage: sous replay --list [--roots] [--here] [--limit 10] [--since 7d]
       sous replay --id ID [--full] [--request N]
       sous replay --tree --id ID
       sous replay --help`;
