/** The name of a program in a command, and the other names under which tables may know it. */

/** Without its folder and the ending Windows gives it, in small letters. */
export function programName(word: string): string {
  return word
    .slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1)
    .toLowerCase()
    .replace(/\.exe$/, "");
}

/** `python3.11` is `python`, `vim.tiny` is `vim`; the name itself comes first. */
export function knownNames(word: string): readonly string[] {
  const name = programName(word);
  return [...new Set([name, name.replace(/[-_]?\d[\d.]*$/, ""), name.split(".", 1)[0] ?? name])];
}
