/** The folder a command was typed in, and folders as people read and type them. */

import { realpathSync } from "node:fs";
import { inertLine } from "./inert.ts";
import { withoutSecrets } from "./without-secrets.ts";

/** As runs of this folder have it: whatever link led here, and without the secrets that events do not hold either. */
export function thisFolder(cwd: string = process.cwd()): string {
  return withoutSecrets(realOf(cwd));
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** `~/shop` below the home folder, otherwise the whole path. */
export function shortFolder(folder: string, home: string | undefined = process.env.HOME): string {
  const shown = inertLine(folder, 200);
  if (home === undefined || !home.startsWith("/") || home === "/") return shown;
  if (shown === home) return "~";
  return shown.startsWith(`${home}/`) ? `~${shown.slice(home.length)}` : shown;
}

/** One word of a command, so that it can be pasted into a shell whatever it holds. */
export function shellWord(text: string): string {
  const shown = inertLine(text, 1000);
  return /^[\w./@:+=,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** The command that changes to a folder. */
export function changeTo(folder: string): string {
  const short = shortFolder(folder);
  return /^~\/[\w./@+-]+$/.test(short) ? `cd ${short}` : `cd ${shellWord(folder)}`;
}
