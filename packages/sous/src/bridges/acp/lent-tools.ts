/** The requests of an agent that the tools of the run answer: `fs/*` and `terminal/*`. */

import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND, Refusal } from "./connection.ts";
import { type CallTool, readLentFile, writeLentFile } from "./lent-files.ts";
import { LentTerminals } from "./lent-terminals.ts";
import { readRequest, terminalRequest, terminalStart, writeRequest } from "./schema.ts";

/** These read a file before they create it, and do not understand that there is none: for them it is empty. */
const READS_BEFORE_IT_CREATES: ReadonlySet<string> = new Set(["gemini-cli"]);

export class LentTools {
  readonly #callTool: CallTool;
  readonly #terminals: LentTerminals;
  readonly #readsBeforeItCreates: boolean;

  constructor(callTool: CallTool, clock: Clock, agentName = "") {
    this.#callTool = callTool;
    this.#readsBeforeItCreates = READS_BEFORE_IT_CREATES.has(agentName);
    this.#terminals = new LentTerminals(callTool, clock);
  }

  async request(method: string, params: unknown): Promise<unknown> {
    switch (method) {
      case "fs/read_text_file":
        return await readLentFile(parsed(readRequest, params), this.#callTool, this.#readsBeforeItCreates);
      case "fs/write_text_file":
        return await writeLentFile(parsed(writeRequest, params), this.#callTool);
      case "terminal/create":
        return await this.#terminals.create(parsed(terminalStart, params));
      case "terminal/output":
        return await this.#terminals.output(parsed(terminalRequest, params).terminalId);
      case "terminal/wait_for_exit":
        return await this.#terminals.waitForExit(parsed(terminalRequest, params).terminalId);
      case "terminal/kill":
        return await this.#terminals.kill(parsed(terminalRequest, params).terminalId);
      case "terminal/release":
        return await this.#terminals.release(parsed(terminalRequest, params).terminalId);
      default:
        throw new Refusal(METHOD_NOT_FOUND, "Method not found");
    }
  }

  /** Stops the commands that still run. */
  async close(): Promise<void> {
    await this.#terminals.close();
  }
}

/** Throws what the agent is told when its request has a wrong shape. */
export function parsed<Schema extends z.ZodType>(schema: Schema, params: unknown): z.output<Schema> {
  const { data, success } = schema.safeParse(params);
  if (!success) throw new Refusal(INVALID_PARAMS, "The request has a wrong shape");
  return data;
}
