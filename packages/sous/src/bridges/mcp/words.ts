/** Sentences for people and models about what a server said or did. */

import { oneLine, plainText, shortened } from "../../core/clean-text.ts";
import { messageOf } from "../../core/errors.ts";
import type { Way } from "./transport.ts";

const MAX_WORDS = 500;
const MAX_TAIL = 2000;

/** Describes an error as one short line: the server may have written it. */
export function wordsOf(error: unknown): string {
  return shortened(oneLine(messageOf(error)), MAX_WORDS);
}

/** Describes the answer of a server on the network, in place of the words of the SDK, which are about its own code. */
export function httpWords(host: string, status: number | undefined, error: unknown): string {
  const words = wordsOf(error);
  const [, type] = /^Unexpected content type: (.+)$/.exec(words) ?? [];
  if (type !== undefined) return `${host} answered with ${type}, which is not MCP. Check url`;
  if (status === undefined) return words;
  if (status === 401 || status === 403)
    return `${host} refused access (${status}). Set the header for it: headers: { Authorization: "Bearer \${TOKEN}" }`;
  const [, said = ""] = /^Error POSTing to endpoint(?: \(HTTP \d+\))?: (.*)$/.exec(words) ?? [];
  const answer = `${host} answered with HTTP status ${status}${said === "" ? "" : `: ${said.replace(/\.$/, "")}`}`;
  return status === 404 || status === 405 ? `${answer}. Check the path of url` : answer;
}

/** The end of what a program wrote to standard error, for people. */
export function tailOf(errors = ""): string {
  return plainText(errors).trim().slice(-MAX_TAIL);
}

/** The line of standard error that says why, as far as one can tell. */
export function stderrHint(errors = ""): string {
  const lines = plainText(errors)
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const said = lines.findLast(isError) ?? lines.findLast((line) => !isTrace(line)) ?? "";
  return said === "" ? "" : `; it said: ${shortened(said, 200)}`;
}

function isError(line: string): boolean {
  return /^(?:\w{0,40}error|\w{0,40}exception)\b/i.test(line) || /: [A-Z]?\w{0,40}Error: /.test(line);
}

/** Lines of a stack: where an error was thrown, its closing bracket, and the version that Node writes last. */
function isTrace(line: string): boolean {
  return /^(?:at .*|[\])}]*,?|Node\.js v[\d.]+)$/.test(line);
}

/** Says how a program ended; undefined while it runs, and for a server that is not a program. */
export function endWords({ program }: Way): string | undefined {
  if (program?.result === undefined) return undefined;
  const { exitCode, endedBy } = program.result;
  return typeof exitCode === "number" ? `ended with exit code ${exitCode}` : `ended by ${endedBy ?? "a signal"}`;
}
