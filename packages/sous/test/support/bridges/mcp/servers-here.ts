/** Hostile MCP servers in this process, in the place of programs: what they write is read line by line, as from a program. */

import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { ProgramResult, Programs, TalkingProgram, TalkRequest } from "../../../../src/core/process.ts";
import { hostileServer } from "./hostile-server.ts";

/** The last argument of a program is the file of its script. */
export function serversHere(): Programs {
  const refuse = (): never => {
    throw new Error("Nothing but a server runs here");
  };
  return {
    run: refuse,
    start: refuse,
    find: refuse,
    talk: async ({ args }: TalkRequest) => startHere(args.at(-1) ?? ""),
    [Symbol.asyncDispose]: async () => {},
  };
}

function startHere(file: string): TalkingProgram {
  const output = new PassThrough();
  const ended = Promise.withResolvers<ProgramResult>();
  let errors = "";
  const end = (exitCode: number): Promise<ProgramResult> => {
    output.end();
    ended.resolve({ exitCode, endedBy: null, stopped: undefined, output: outputOf(""), durationMs: 0 });
    return ended.promise;
  };
  const take = hostileServer(file, {
    write: (text) => void output.write(text),
    error: (text) => (errors += text),
    die: (code) => void end(code),
  });
  return {
    pid: process.pid,
    lines: createInterface({ input: output }),
    droppedLines: 0,
    errors: () => outputOf(errors),
    // As of a program, its answer comes later than what was sent.
    send: async (line) => void setImmediate(take, line),
    close: () => end(0),
    ended: ended.promise,
    [Symbol.asyncDispose]: async () => void (await end(0)),
  };
}

function outputOf(head: string): { head: string; tail: string; droppedBytes: number } {
  return { head, tail: "", droppedBytes: 0 };
}
