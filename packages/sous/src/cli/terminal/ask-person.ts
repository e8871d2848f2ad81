/** A question with yes or no to the person at the terminal, for commands that otherwise only print. */

import { createInterface } from "node:readline/promises";

/** True is a yes. */
export type AskPerson = (question: string) => Promise<boolean>;

/** Undefined when no person can be asked. */
export function personAtTerminal(): AskPerson | undefined {
  return process.stdin.isTTY === true && process.stderr.isTTY === true ? askOnStderr : undefined;
}

async function askOnStderr(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } catch {
    // Ctrl-C and the end of input are a no, and have left the cursor behind the question.
    process.stderr.write("\n");
    return false;
  } finally {
    terminal.close();
  }
}
