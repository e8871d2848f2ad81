/** What is said about a command that there is not, or not yet. */

import { nearest } from "../core/nearest.ts";
import { inertLine } from "./inert.ts";

/** The commands of the contract that are still to come. */
const LATER = ["acp", "mcp", "metrics", "view", "worker"];

export function complaintAbout(command: string, commands: readonly string[]): string {
  if (command === "") return "error: Without a terminal sous needs a command. Try sous run, or sous --help.\n";
  const name = inertLine(command, 60);
  if (LATER.includes(name)) return `error: sous ${name} is not in this build. Try sous demo, or sous --help.\n`;
  if (name.startsWith("-"))
    return `error: ${JSON.stringify(name)} comes after a command, such as sous run or sous chat. See sous --help.\n`;
  const meant = nearest(name, commands) ?? "demo";
  return `error: There is no command ${JSON.stringify(name)}. Try sous ${meant}, or sous --help.\n`;
}
