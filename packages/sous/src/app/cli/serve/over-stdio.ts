/**
 * A protocol over standard input and output, until the client is gone or a signal comes; and the store and telemetry that its
 * sessions or calls share.
 */

import type { Store } from "../../../core/store.ts";
import { configuredModels } from "../application/configured-models.ts";
import { Opened } from "../application/opened.ts";
import { loadAgents, readConfiguration } from "../application/project.ts";
import { openTelemetry, type RunTelemetry } from "../application/telemetry.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { catchInterrupts, patienceAfter } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";

/** Max time after the last word: telemetry may take most of it, and an idle connection would keep the process alive. */
const MAX_EXIT_MS = 950;

/** The streams that a protocol reads and writes. */
type Pipe = {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line with its end; resolves when the reader can take more. */
  readonly write: (line: string) => Promise<void>;
  /** One sentence for the log of the client. */
  readonly warn: (sentence: string) => void;
  /** Aborts when the client is gone or a signal has come: everything ends then. */
  readonly signal: AbortSignal;
};

type StdioService<Served extends AsyncDisposable> = {
  open(): Promise<Served>;
  /** Resolves when all that was begun has ended. */
  serve(served: Served, pipe: Pipe): Promise<void>;
};

/** Returns the exit code. */
export async function serveOverStdio<Served extends AsyncDisposable>(service: StdioService<Served>): Promise<number> {
  using interrupts = catchInterrupts();
  const gone = new AbortController();
  using output = protocolOutput(() => gone.abort());
  const signal = AbortSignal.any([interrupts.signal, gone.signal]);
  using patience = patienceAfter(signal);
  await using served = await service.open();
  // The runs are cancelled now, and not waited for much longer.
  process.stdin.once("end", () => gone.abort());
  const pipe: Pipe = { input: process.stdin, write: output.write, warn: tell, signal };
  await patience.wait(service.serve(served, pipe));
  process.stdin.destroy();
  setTimeout(() => process.exit(), MAX_EXIT_MS).unref();
  return interrupts.reason() === undefined ? EXIT.ok : interrupts.exitCode();
}

/** Only the protocol writes to standard output: what anything else prints there goes to standard error. */
function protocolOutput(onGone: () => void): Disposable & { write(line: string): Promise<void> } {
  const { stdout } = process;
  const own = Object.getOwnPropertyDescriptor(stdout, "write");
  const write = stdout.write.bind(stdout);
  stdout.write = process.stderr.write.bind(process.stderr);
  stdout.on("error", onGone);
  return {
    write: (line) =>
      new Promise((resolve, reject) => {
        write(line, (error) => (error ? reject(error) : resolve()));
      }),
    [Symbol.dispose]() {
      if (own !== undefined) Object.defineProperty(stdout, "write", own);
      stdout.off("error", onGone);
    },
  };
}

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
  const { agents } = await loadAgents(context, { files: [] }, configuration);
  const models = configuredModels(configuration, agents);
  const request = { settings: configuration, env: context.env, models, say: tell };
  const telemetry = opened.use(await openTelemetry(request));
  return opened.moveTo({ store, telemetry });
}
