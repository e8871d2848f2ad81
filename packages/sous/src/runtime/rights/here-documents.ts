/** The here-documents of a command line: their names are in the line, their bodies follow it. */

import { type Source, take } from "./shell-words.ts";

/** `isLiteral`: its name is quoted, so the shell replaces nothing in the body. */
type HereDocument = { readonly name: string; readonly isLiteral: boolean };

export class HereDocuments {
  #open: HereDocument[] = [];

  get areOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Reads the name behind `<<`. The sentence says what is wrong. */
  readName(source: Source): string | undefined {
    take(source, /[ \t]+/y);
    const written = take(source, /'\w+'|"\w+"|\\?\w+/y);
    const isWhole = /[ \t\n;&|<>]/.test(source.text[source.at] ?? "");
    if (written === undefined || !isWhole) return "<< needs a plain word, such as <<'EOF'";
    const name = /\w+/.exec(written)?.[0] ?? "";
    this.#open.push({ name, isLiteral: written !== name });
    return undefined;
  }

  /** Reads the documents behind the end of the line. */
  readBodies(source: Source): string | undefined {
    for (const document of this.#open.splice(0)) {
      const problem = readBody(source, document);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

function readBody(source: Source, { name, isLiteral }: HereDocument): string | undefined {
  const start = source.at;
  for (;;) {
    const end = source.text.indexOf("\n", source.at);
    const line = source.text.slice(source.at, end === -1 ? undefined : end);
    const bodyEnd = source.at;
    source.at = end === -1 ? source.text.length : end + 1;
    if (line === name) {
      const isPlain = isLiteral || !/[$`\\]/.test(source.text.slice(start, bodyEnd));
      return isPlain ? undefined : `the here-document ${name} contains $, \` or \\: write <<'${name}'`;
    }
    if (end === -1) return "a here-document has no end";
  }
}
