/** `sous acp serve`: sous as the agent of an editor, over standard input and output. Sessions are opened in any folder, listed from the one database, with one telemetry for all. */

import { serveAcp } from "../../../bridges/acp/serve.ts";
import type { ServedAgent, ServedList } from "../../../bridges/acp/served-agent.ts";
import type { Store } from "../../../core/store.ts";
import { idSource, systemClock, systemHost } from "../../../machine/host.ts";
import { ROOT_NAME } from "../application/root.ts";
import { readOuterLimits } from "../application/within.ts";
import { CommandError } from "../exit-codes.ts";
import { processContext, thisFolder } from "../files/paths.ts";
import { listConversations } from "../stored/list-conversations.ts";
import { refusePositionals, type Typed } from "../table/options.ts";
import { type RunFlags, readRunFlags } from "../table/run-flags.ts";
import type { ACP } from "../table/server-entries.ts";
import { inertLine } from "../terminal/text.ts";
import { SharedParts, serveOverStdio } from "./over-stdio.ts";
import { openSession } from "./session.ts";

/** Sessions on one page of a list. */
const PAGE = 50;

async function openServedAgent(flags: RunFlags): Promise<ServedAgent & AsyncDisposable> {
  const { default: manifest } = await import("../../../../package.json", { with: { type: "json" } });
  const { env } = processContext();
  const newId = idSource(systemHost());
  const shared = new SharedParts(flags);
  return {
    version: manifest.version,
    open: async (opening, view) => {
      const { store, telemetry } = await shared.parts();
      return openSession(opening, view, { flags, env, store, telemetry, newId });
    },
    list: async (cwd, cursor) => listSessions((await shared.parts()).store, cwd, cursor),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

async function listSessions(store: Store | undefined, cwd = "", cursor = "0"): Promise<ServedList> {
  if (!/^\d{1,9}$/.test(cursor)) throw new CommandError("The cursor is not one that session/list has given");
  if (store === undefined) return { sessions: [], nextCursor: undefined };
  const offset = Number(cursor);
  const folder = cwd === "" ? undefined : thisFolder(cwd);
  const found = await listConversations(store, { agent: ROOT_NAME, cwd: folder, limit: PAGE, offset });
  const sessions = found.flatMap(({ first, last }) => {
    // One that was not stored to its end cannot be continued.
    if (last.cwd === undefined || last.lost !== undefined) return [];
    const updatedAt = new Date(last.endedAt ?? last.startedAt).toISOString();
    return [{ sessionId: last.rootId, cwd: last.cwd, title: inertLine(first.task, 120), updatedAt }];
  });
  return { sessions, nextCursor: found.length < PAGE ? undefined : String(offset + PAGE) };
}

const MAX_LINE_BYTES = 32 * 1024 * 1024;

export async function acpServe({ values, positionals }: Typed<typeof ACP>): Promise<number> {
  refusePositionals("sous acp serve", positionals, " It reads requests from standard input.");
  const flags = readRunFlags(values);
  // Limits that cannot be read end the command, before a session is opened without them.
  await readOuterLimits(process.env);
  return serveOverStdio({
    open: () => openServedAgent(flags),
    serve: (agent, pipe) => serveAcp({ ...pipe, agent, clock: systemClock, maxLineBytes: MAX_LINE_BYTES }),
  });
}
