/** `${NAME}`, `${NAME:-x}` and the like in what is said about an MCP server. A project gets few variables, so that it cannot send keys away. */

import { basename } from "node:path";
import { PASSED_ON, type Variables } from "../core/variables.ts";

/** Whose variables are filled in, and what the folders of editors stand for. */
export type VariableSource = {
  readonly env: Variables;
  /** The names that may be read; undefined is all. */
  readonly readable: ReadonlySet<string> | undefined;
  /** What `${workspaceFolder}` stands for. */
  readonly folder: string;
};

/** Fills in texts, and collects what is missing: one sentence each. */
export type Filler = { fill(text: string): string; readonly missing: ReadonlySet<string> };

/** Every program that is started gets these anyway. */
const EVERYBODYS: readonly string[] = [...PASSED_ON, "HOME", "PATH", "SHELL"];

/** What a server of a project may read: `listed` is the setting `mcp_variables`. */
export function readableInProject(listed: readonly string[]): ReadonlySet<string> {
  return new Set([...EVERYBODYS, ...listed]);
}

/**
 * The forms of Claude Code, of VS Code and Cursor (`${env:NAME}`, `${workspaceFolder}`, `${userHome}`, `${/}`, `${input:x}`), and of
 * opencode (`{env:NAME}`).
 */
const REFERENCE =
  /(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|\$\{(input:[^{}]{0,100})\}|\$\{(env:[^{}]{0,100})\}|\$\{(\/)\}/g;

/** gemini-cli also takes `$NAME`. In commands it is for a shell; a value of env or of a header that is nothing else is a variable. */
export function spelledOut(value: string): string {
  return value.replace(
    /^((?:[A-Za-z]+ )?)\$([A-Za-z_][A-Za-z0-9_]*)$/,
    (_, before: string, name: string) => `${before}\${${name}}`,
  );
}

/** What stands for a folder. */
const FOLDERS: Readonly<Record<string, (folder: string) => string>> = {
  workspaceFolder: (folder) => folder,
  CLAUDE_PROJECT_DIR: (folder) => folder,
  workspaceFolderBasename: (folder) => basename(folder),
  pathSeparator: () => "/",
};

export function createFiller({ env, readable, folder }: VariableSource): Filler {
  const missing = new Set<string>();
  const lookUp = (name: string, fallback: string | undefined): string => {
    const asFolder = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined;
    if (asFolder !== undefined) return asFolder(folder);
    const own = name === "userHome" ? "HOME" : name;
    const mayRead = readable?.has(own) ?? true;
    const value = mayRead ? env[own] : undefined;
    if (value !== undefined && (value !== "" || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    missing.add(mayRead ? `set the variable ${own}` : notPassedOn(own));
    return "";
  };
  return {
    missing,
    fill: (text) =>
      text.replace(REFERENCE, (_, name?: string, fallback?: string, input?: string, other?: string, slash?: string) => {
        if (name !== undefined) return lookUp(name, fallback);
        if (slash !== undefined) return slash;
        missing.add(`write a variable instead of \${${input ?? other}}, which sous cannot fill in`);
        return "";
      }),
  };
}

function notPassedOn(name: string): string {
  return `a project gets the variable ${name} only when mcp_variables of your own configuration lists it`;
}

/** The names of variables in these texts, those left out that every program gets. For people. */
export function variablesIn(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => [...text.matchAll(REFERENCE)].map(([, name, , input]) => name ?? input ?? ""));
  const shown = names.filter((name) => name !== "" && !EVERYBODYS.includes(name) && !isFolder(name));
  return [...new Set(shown)];
}

function isFolder(name: string): boolean {
  return name === "userHome" || Object.hasOwn(FOLDERS, name);
}
