/** `sous acp serve`: sous as the agent of an editor, over standard input and output. */

import { serveAcp } from "../../acp/serve.ts";
import { systemClock } from "../../host.ts";
import { readOuterLimits } from "../application/within.ts";
import { EXIT } from "../exit-codes.ts";
import { openServedAgent } from "../serve/agent.ts";
import { ACP } from "../table/acp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { catchInterrupts, patienceAfter } from "../terminal/interrupts.ts";
import { tell } from "../terminal/output.ts";

const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** After the last word: telemetry may take most of it, and an idle connection would keep the process alive. */
const MAX_EXIT_MS = 950;

export async function acpServe(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(ACP, parameters);
  refusePositionals("sous acp serve", positionals, " It takes its orders from standard input.");
  const flags = readRunFlags(values);
  // Limits that cannot be read end the command, before a session is opened without them.
  await readOuterLimits(process.env);
  using interrupts = catchInterrupts();
  const gone = new AbortController();
  using output = protocolOutput(() => gone.abort());
  const signal = AbortSignal.any([interrupts.signal, gone.signal]);
  using patience = patienceAfter(signal);
  await using agent = await openServedAgent(flags);
  // The runs are cancelled now, and not waited for much longer.
  process.stdin.once("end", () => gone.abort());
  const options = { input: process.stdin, write: output.write, maxLineBytes: MAX_LINE_BYTES, warn: tell };
  await patience.wait(serveAcp({ ...options, agent, clock: systemClock, signal }));
  process.stdin.destroy();
  setTimeout(() => process.exit(), MAX_EXIT_MS).unref();
  return interrupts.reason() === undefined ? EXIT.ok : interrupts.exitCode();
}

type ProtocolOutput = Disposable & { write(line: string): Promise<void> };

/** Only the protocol writes to standard output: what anything else prints there goes to standard error. */
function protocolOutput(onGone: () => void): ProtocolOutput {
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
