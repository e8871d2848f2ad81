/** The sessions of `sous acp serve`: opened in any folder, listed from the one database, with one telemetry for all. */

import type { ServedAgent, ServedList } from "../../acp/served-agent.ts";
import type { Store } from "../../core/store.ts";
import { ulidSource } from "../../core/ulid.ts";
import { systemHost } from "../../host.ts";
import { readConfiguration } from "../application/project.ts";
import { ROOT_NAME } from "../application/root.ts";
import { openTelemetry, type RunTelemetry } from "../application/telemetry.ts";
import { CommandError } from "../exit-codes.ts";
import { processContext, thisFolder } from "../files/paths.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import { listConversations } from "../stored/list-conversations.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { openSession } from "./session.ts";

/** Sessions on one page of a list. */
const PAGE = 50;

export async function openServedAgent(flags: RunFlags): Promise<ServedAgent & AsyncDisposable> {
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  const { env } = processContext();
  const host = systemHost();
  const newId = ulidSource(host.clock.now, host.random);
  const shared = new SharedParts(flags);
  return {
    version: manifest.version,
    open: async (opening, view) => {
      const { store, telemetry } = await shared.parts();
      return openSession(opening, view, { flags, env, store, telemetry, newId, warn: tell });
    },
    list: async (cwd, cursor) => listSessions((await shared.parts()).store, cwd, cursor),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

type Shared = { readonly store: Store | undefined; readonly telemetry: RunTelemetry };

/** One store and one telemetry for all sessions, opened with the first that needs them. */
class SharedParts implements AsyncDisposable {
  readonly #flags: RunFlags;
  #opening: Promise<Shared & AsyncDisposable> | undefined;

  constructor(flags: RunFlags) {
    this.#flags = flags;
  }

  /** A failure, such as a mistake in the configuration, is tried again: a person may have mended it. */
  async parts(): Promise<Shared> {
    this.#opening ??= openShared(this.#flags);
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const shared = await this.#opening?.catch(() => undefined);
    await shared?.[Symbol.asyncDispose]();
  }
}

/** Both are of the user: a project has no say in them. */
async function openShared(flags: RunFlags): Promise<Shared & AsyncDisposable> {
  const context = processContext();
  const { configuration } = await readConfiguration({ flags, ...context, project: undefined });
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openForRun(storageOf(flags.storage, configuration)));
  const request = { settings: configuration.telemetry, env: context.env, say: tell };
  const telemetry = opened.use(await openTelemetry(request));
  const lives = opened.move();
  return { store, telemetry, [Symbol.asyncDispose]: () => lives.disposeAsync() };
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
