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
  // `perl5.36-x86_64-linux-gnu`, `x86_64-linux-gnu-gcc`.
  const stem = /^[a-z]+(?=\d)/.exec(name)?.[0] ?? name;
  const tool = /-(?:gcc|g\+\+|cpp|clang|cc)$/.test(withoutVersion(name)) ? "gcc" : name;
  return [...new Set([name, withoutVersion(name), name.split(".", 1)[0] ?? name, stem, tool])];
}

function withoutVersion(name: string): string {
  let end = name.length;
  while (end > 0 && "0123456789.".includes(name[end - 1] ?? "")) end -= 1;
  return end < name.length && /[-_]/.test(name[end - 1] ?? "") ? name.slice(0, end - 1) : name.slice(0, end);
}
