/** What no file tool may write, there or not: whatever a program of ours, of git, of a shell or of an editor would obey. */

import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

export type ProtectedPaths = {
  /** Why a file must not be written; undefined when it may be. `name` is below the workspace, `real` is absolute. */
  reason(name: string, real: string): string | undefined;
};

/** `extra` are absolute paths of files or folders, such as the database and the configuration of the user. */
export async function protectPaths(extra: readonly string[]): Promise<ProtectedPaths> {
  const named = extra.map((path) => resolve(path));
  const kept = [...named, ...(await Promise.all(named.map(realPathOf)))].map(folded);
  return {
    reason(name, real) {
      const part = protectedPart(name);
      if (part !== undefined) return `${part} ${part.endsWith("/") ? "holds" : "is"} what other programs obey`;
      const path = folded(real);
      const isKept = kept.some((each) => path === each || path.startsWith(`${each}${sep}`) || isBeside(path, each));
      return isKept ? "it belongs to sous" : undefined;
    },
  };
}

/** Configuration of programs, at any depth: all that lies below such a folder, or the folder itself. */
const FOLDERS = new Set([
  ".sous",
  ".claude",
  ".gemini",
  ".opencode",
  ".codex",
  ".cursor",
  ".git",
  ".hg",
  ".svn",
  ".jj",
  ".vscode",
  ".idea",
  ".ssh",
]);

const FILES = new Set([
  ".mcp.json",
  ".gitconfig",
  ".gitmodules",
  ".ripgreprc",
  ".envrc",
  ".profile",
  ".login",
  ".logout",
  ".inputrc",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".mkshrc",
  ".cshrc",
  ".tcshrc",
]);

/** The part of a name that makes it protected, as it is written in the lists above. */
function protectedPart(name: string): string | undefined {
  const parts = name.split(/[/\\]/).map(foldedPart);
  const folder = parts.find((part) => FOLDERS.has(part));
  if (folder !== undefined) return `${folder}/`;
  const last = parts.at(-1) ?? "";
  if (FILES.has(last)) return last;
  // The shell of many: everything in this folder is run when it starts.
  const fish = parts.findIndex((part, index) => part === ".config" && parts[index + 1] === "fish");
  return fish === -1 ? undefined : ".config/fish/";
}

/** A database keeps files beside itself: `sous.db-wal`, `sous.db-shm`. */
function isBeside(path: string, kept: string): boolean {
  return path.startsWith(`${kept}-`) && !path.slice(kept.length).includes(sep);
}

function folded(path: string): string {
  return path.split(sep).map(foldedPart).join(sep);
}

/**
 * As the most forgiving file system reads a name: case, compatible and ignored characters, dots and spaces at the end and
 * a stream after a colon make no difference there.
 */
function foldedPart(part: string): string {
  const plain = part.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return plain
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "")
    .toLowerCase();
}

/** The path without links as far as it exists. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(await realPathOf(above), basename(path));
  }
}
