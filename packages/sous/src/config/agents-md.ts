/** `AGENTS.md`: what a project wants every agent to know. It becomes part of the root's instructions. */

import { visibleText } from "../core/clean-text.ts";
import type { ProjectFile } from "./trust-files.ts";

const MAX_BYTES = 64 * 1024;

export type AgentsMd = { readonly text: string; readonly isCut: boolean };

/** Undefined when there is none, or it is empty. Give the files of a trusted project, as they were compared. */
export function readAgentsMd(trusted: readonly ProjectFile[]): AgentsMd | undefined {
  const content = trusted.find(({ path }) => path === "AGENTS.md")?.content;
  if (content === undefined || content.includes(0)) return undefined;
  const isCut = content.length > MAX_BYTES;
  // A character that was cut in two is left out.
  const whole = new TextDecoder().decode(content.subarray(0, MAX_BYTES), { stream: isCut });
  const text = visibleText(whole).trim();
  if (text === "") return undefined;
  return { text: isCut ? `${text}\n\n[AGENTS.md is longer than 64 KB; the rest was left out.]` : text, isCut };
}
