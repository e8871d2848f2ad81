/** `AGENTS.md`: what a project wants every agent to know. It becomes part of the root's instructions. */

import { join } from "node:path";
import { visibleText } from "./agent-text.ts";
import { readRegular, realInside } from "./trust-read.ts";

const MAX_BYTES = 64 * 1024;
/** So much is looked at to say how much was left out. */
const MAX_READ = 16 * 1024 * 1024;

export type AgentsMd = { readonly file: string; readonly text: string; readonly isCut: boolean };

/** Undefined when there is none, it is empty, or it cannot be read. Give the root of a trusted project, never another. */
export async function readAgentsMd(trustedRoot: string | undefined): Promise<AgentsMd | undefined> {
  if (trustedRoot === undefined) return undefined;
  const file = join(trustedRoot, "AGENTS.md");
  // Often a link to the file of another program, beside it.
  const real = await realInside(file, trustedRoot);
  const content = real === undefined ? undefined : await readRegular(real, MAX_READ).catch(() => undefined);
  if (content === undefined || content.includes(0)) return undefined;
  const isCut = content.length > MAX_BYTES;
  // A character that was cut in two is left out.
  const whole = new TextDecoder().decode(content.subarray(0, MAX_BYTES), { stream: isCut });
  const text = visibleText(whole).trim();
  if (text === "") return undefined;
  return { file, text: isCut ? `${text}\n\n[AGENTS.md is longer than 64 KB; the rest was left out.]` : text, isCut };
}
