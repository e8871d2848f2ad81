/** An agent of the Agent Client Protocol in this process: the test says what it answers, and when. */

import { type AgentStart, DEFAULT_DEADLINES } from "../../../../src/bridges/acp/agent.ts";
import type { ProgramOutput, ProgramResult, Programs, TalkingProgram } from "../../../../src/core/process.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

const NOTHING: ProgramOutput = { head: "", tail: "", droppedBytes: 0 };
const ENDED: ProgramResult = {
  exitCode: 0,
  endedBy: null,
  stopped: undefined,
  output: NOTHING,
  errors: NOTHING,
  durationMs: 1,
};

type Message = { readonly id?: number; readonly method?: string; readonly params?: unknown; readonly result?: unknown };

/** The answer to a request; undefined for none. */
export type Answers = (method: string, params: unknown) => unknown;

export type StubAgent = {
  readonly clock: VirtualClock;
  readonly start: AgentStart;
  /** What it was sent, in order. */
  readonly sent: readonly Message[];
  say(message: object): void;
  /** False once it was told to end. */
  isWanted(): boolean;
  /** It has ended: every `close` resolves. Without `endsLate` it does so at once. */
  end(): void;
};

export function handshake(method: string): object | undefined {
  if (method === "initialize") return { protocolVersion: 1 };
  return method === "session/new" ? { sessionId: "s1" } : undefined;
}

export function stubAgent(answers: Answers = handshake, { endsLate = false, takesNothing = false } = {}): StubAgent {
  const clock = new VirtualClock(0);
  const lines: string[] = [];
  const sent: Message[] = [];
  const ended = Promise.withResolvers<ProgramResult>();
  let isWanted = true;
  let isOver = false;
  let wake = () => {};
  const end = (): void => {
    isOver = true;
    wake();
    ended.resolve(ENDED);
  };
  const close = (): Promise<ProgramResult> => {
    isWanted = false;
    if (!endsLate) end();
    return ended.promise;
  };
  const say = (message: object): void => {
    lines.push(JSON.stringify({ jsonrpc: "2.0", ...message }));
    wake();
  };
  async function* read(): AsyncGenerator<string> {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (isOver) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const program: TalkingProgram = {
    pid: 1,
    lines: read(),
    droppedLines: 0,
    errors: () => NOTHING,
    async send(line) {
      const message: Message = JSON.parse(line);
      sent.push(message);
      if (takesNothing) return await new Promise(() => {});
      const { id, method = "", params } = message;
      const result = message.method === undefined ? undefined : answers(method, params);
      if (result !== undefined) say({ id, result });
    },
    close,
    ended: ended.promise,
    [Symbol.asyncDispose]: async () => void (await close()),
  };
  const programs = { talk: async () => program } as object as Programs;
  const server = {
    name: "toy",
    command: "toy",
    args: [],
    env: {},
    timeoutMs: 60_000,
  } as object as AgentStart["server"];
  const lent = { read: false, write: false, terminal: false };
  return {
    clock,
    start: { server, programs, clock, deadlines: DEFAULT_DEADLINES, cwd: "/", environment: {}, lent },
    sent,
    say,
    isWanted: () => isWanted,
    end,
  };
}
