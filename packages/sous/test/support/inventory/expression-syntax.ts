/** Reads the source of a regular expression into a tree, as far as the proof of its time needs. */

export type Node =
  /** One character; `source` is an expression for it alone. */
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly options: readonly Node[] }
  | { readonly kind: "repeat"; readonly body: Node; readonly min: number; readonly max: number }
  /** `^`, `$`, `\b`, and what looks ahead or back: takes no character, and may fail. */
  | { readonly kind: "assertion"; readonly source: string; readonly body?: Node };

/** Throws for what it does not know, such as back-references: no proof without understanding. */
export function readExpression(source: string): Node {
  let at = 0;
  const tree = choice();
  if (at < source.length) throw new Error(`"${source[at]}" at ${at} is not understood`);
  return tree;

  function choice(): Node {
    const options = [sequence()];
    while (source[at] === "|") {
      at += 1;
      options.push(sequence());
    }
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
  }

  function sequence(): Node {
    const parts: Node[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(repeated(part()));
    return { kind: "sequence", parts };
  }

  function part(): Node {
    const character = source[at];
    if (character === "(") return group();
    if (character === "[") return set();
    if (character === "\\") return escaped();
    const [taken = ""] = /^[\s\S]/u.exec(source.slice(at, at + 2)) ?? [];
    at += taken.length;
    if (taken === "^" || taken === "$") return { kind: "assertion", source: taken };
    return { kind: "character", source: taken };
  }

  function group(): Node {
    const opening = /^\((?:\?(?:<?[=!]|:|<\w+>))?/.exec(source.slice(at))?.[0] ?? "(";
    at += opening.length;
    const body = choice();
    if (source[at] !== ")") throw new Error("a group does not end");
    at += 1;
    return /[=!]$/.test(opening) ? { kind: "assertion", source: opening, body } : body;
  }

  function set(): Node {
    const start = at;
    for (at += 1; source[at] !== "]"; at += source[at] === "\\" ? 2 : 1) {
      if (at >= source.length) throw new Error("a set does not end");
    }
    at += 1;
    return { kind: "character", source: source.slice(start, at) };
  }

  function escaped(): Node {
    const [taken = ""] =
      /^\\(?:[pP]\{[^}]*\}|u\{[\dA-Fa-f]+\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|0(?!\d)|[^1-9k])/.exec(source.slice(at)) ??
      [];
    if (taken === "") throw new Error(`"${source.slice(at, at + 3)}" is a back-reference or is not understood`);
    at += taken.length;
    return /^\\[bB]$/.test(taken) ? { kind: "assertion", source: taken } : { kind: "character", source: taken };
  }

  function repeated(body: Node): Node {
    const [taken = "", kind = "", from, comma, to] = /^(?:([*+?])|\{(\d+)(,)?(\d*)\})\??/.exec(source.slice(at)) ?? [];
    if (taken === "") return body;
    at += taken.length;
    if (from === undefined)
      return { kind: "repeat", body, min: kind === "+" ? 1 : 0, max: kind === "?" ? 1 : Infinity };
    const max = comma === undefined ? Number(from) : to === "" ? Infinity : Number(to);
    return { kind: "repeat", body, min: Number(from), max };
  }
}
