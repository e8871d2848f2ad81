/** Which scripts of sed only print, delete and replace. Its commands `e` and `w`, and the flag `e`, do more. */

import type { ShellWord } from "./shell-words.ts";

const ADDRESS = String.raw`(?:\d+|\$|/(?:\\[^\n]|[^/\\\n])+/)`;
const LINES = String.raw`(?:${ADDRESS}(?:,(?:${ADDRESS}|[+~]\d+))?!?)?`;
/** `p`, `d`, `q` and the like, for some lines or for all. */
const SIMPLE = new RegExp(`^${LINES}[pdqnNDPGgHhx=]$`);
const REPLACE = new RegExp(`^${LINES}s`);

/** Why a call of sed is not understood; undefined when it is. */
export function scriptProblem(rest: readonly ShellWord[]): string | undefined {
  let hasScript = false;
  for (let at = 0; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    const isOption = text.startsWith("-") && text !== "-";
    if (isOption && text === "-e") {
      hasScript = true;
      at += 1;
      if (!isHarmless(rest[at])) return "may run or write with its script";
    } else if (isOption && !/^-(?:[nErsz]+|[nErsz]*i(?:\.\w+)?|-quiet|-silent|-regexp-extended)$/.test(text)) {
      return `has an option that is not known: ${text.slice(0, 60)}`;
    } else if (!isOption && !hasScript) {
      hasScript = true;
      if (!isHarmless(rest[at])) return "may run or write with its script";
    } else if (isOpen && /^(?:$|[-*?[])/.test(text)) return "may get an option from a glob";
  }
  return undefined;
}

function isHarmless(word: ShellWord | undefined): boolean {
  if (word === undefined || word.isOpen || word.text.length > 2000) return false;
  const text = word.text.trim();
  return isReplacement(text) || text.split(";").every((each) => SIMPLE.test(each.trim()));
}

/** `s/a/b/g` with any mark in place of `/`, and nothing behind its flags. */
function isReplacement(text: string): boolean {
  const head = REPLACE.exec(text)?.[0];
  if (head === undefined) return false;
  const mark = text[head.length];
  if (mark === undefined || /[\\\n\w\s]/.test(mark)) return false;
  let at = head.length + 1;
  for (let part = 0; part < 2; part++) {
    while (at < text.length && text[at] !== mark) {
      if (text[at] === "\n") return false;
      at += text[at] === "\\" ? 2 : 1;
    }
    at += 1;
  }
  return at <= text.length && /^[gpiI\d]*;?$/.test(text.slice(at));
}
