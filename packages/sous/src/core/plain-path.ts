/** Paths as they are written: the same for every program, or not. */

/**
 * Says why programs could take a path for different files; undefined for an absolute one, and for one that is plainly relative.
 * None of our tools replaces anything in a path, so such a path is a mistake there.
 */
export function whyNotPlain(path: string): string | undefined {
  if (path.includes("\0")) return "it holds a NUL byte";
  if (path.startsWith("~")) return "some programs take ~ for a home folder";
  if (/^[a-z][a-z0-9+.-]+:/i.test(path)) return "it is written as an address";
  if (/^[$%`"']/.test(path)) return "a shell takes its first character for something else";
  return undefined;
}

/**
 * The path as it is for file systems and programs that take one way to write a character for another, or `\\` for `/`; itself first.
 */
export function readingsOf(path: string): string[] {
  const composed = [path, ...["NFC", "NFD", "NFKC"].map((form) => path.normalize(form))];
  return [...new Set(composed.flatMap((each) => [each, each.replaceAll("\\", "/")]))];
}

/** Installers of packages link files of a store into these folders. */
const LINKED_FOLDERS: ReadonlySet<string> = new Set(["node_modules", "site-packages"]);

/** True for a file of an installed package that all users of the machine may read: a secret is private. */
export function isInstalled(path: string, mode: number): boolean {
  return path.split(/[/\\]/).some((part) => LINKED_FOLDERS.has(part)) && (mode & 0o004) !== 0;
}
