/** What all sessions or calls of a server share: the store and the telemetry of its user. */

import type { Store } from "../../core/store.ts";
import { Opened } from "../application/opened.ts";
import { readConfiguration } from "../application/project.ts";
import { openTelemetry, type RunTelemetry } from "../application/telemetry.ts";
import { processContext } from "../files/paths.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";

type Shared = { readonly store: Store | undefined; readonly telemetry: RunTelemetry };

/** One store and one telemetry for all sessions or calls, opened with the first that needs them. */
export class SharedParts implements AsyncDisposable {
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
  await using opened = new Opened();
  const store = opened.use(await openForRun(storageOf(flags.storage, configuration)));
  const request = { settings: configuration.telemetry, env: context.env, say: tell };
  const telemetry = opened.use(await openTelemetry(request));
  const lives = opened.move();
  return { store, telemetry, [Symbol.asyncDispose]: () => lives[Symbol.asyncDispose]() };
}
