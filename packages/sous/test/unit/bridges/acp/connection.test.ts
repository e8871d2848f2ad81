/** A connection to an agent that is gone before it can be told anything: what it said last is told, however late it is read. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentConnection } from "../../../../src/bridges/acp/connection.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { ProgramOutput, ProgramResult, TalkingProgram } from "../../../../src/core/process.ts";
import { systemClock } from "../../../../src/machine/host.ts";

const NOTHING: ProgramOutput = { head: "", tail: "", droppedBytes: 0 };

/** Its input is closed. Its standard error is read by the time its result is there, and not before. */
function deafProgram(how: Pick<ProgramResult, "exitCode" | "endedBy" | "stopped">): TalkingProgram {
  const end = Promise.withResolvers<ProgramResult>();
  let errors = NOTHING;
  const close = async (): Promise<ProgramResult> => {
    await new Promise((resolve) => setImmediate(resolve));
    errors = { ...NOTHING, head: "no licence found\n" };
    end.resolve({ ...how, output: NOTHING, errors, durationMs: 1 });
    return end.promise;
  };
  return {
    pid: 1,
    lines: (async function* () {
      await end.promise;
      yield* [];
    })(),
    droppedLines: 0,
    errors: () => errors,
    send: () => Promise.reject(new ToolFailure("Nothing more can be sent")),
    close,
    ended: end.promise,
    [Symbol.asyncDispose]: async () => void (await close()),
  };
}

function firstAnswer(program: TalkingProgram): Promise<unknown> {
  const connection = new AgentConnection({ serverName: "toy", program, clock: systemClock });
  return connection.request("initialize", {}, 60_000);
}

test("an agent that died before it was sent anything is told by its exit code and its last words", async () => {
  const program = deafProgram({ exitCode: 3, endedBy: null, stopped: undefined });
  await assert.rejects(
    firstAnswer(program),
    /^ModelError: The agent server toy ended with exit code 3; it said: no licence found/,
  );
});

test("an agent that stays and reads nothing is told so, with its last words", async () => {
  const program = deafProgram({ exitCode: null, endedBy: "SIGTERM", stopped: "cancelled" });
  await assert.rejects(firstAnswer(program), /no longer reads its input, and was ended; it said: no licence found/);
});
