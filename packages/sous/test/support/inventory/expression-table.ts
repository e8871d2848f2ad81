// biome-ignore-all lint/suspicious/noTemplateCurlyInString: rows quote the sources as they are.

/**
 * The expressions in `src/` that are not proved to be linear, and why they are bearable. Most need no row:
 * `expression-time.ts` proves them. A row names who bounds the text; where strangers write the text it also builds the
 * worst one, of about `length` characters, for the soak.
 */

export type UnprovedExpression = {
  readonly path: string;
  /** As it stands in the source; what is put together at run time is written as its whole `new RegExp(…)`. */
  readonly written: string;
  /** Why it takes bounded time all the same: who wrote the text, or what bounds its length. */
  readonly reason: string;
  /** For text of strangers: the expression as it is in the end, and the worst text for it. */
  readonly worst?: { readonly expression: RegExp; text(length: number): string };
};

export const UNPROVED: readonly UnprovedExpression[] = [
  {
    path: "app/cli/chat/editor.ts",
    written: String.raw`/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u`,
    reason: "looks at no more than the last 1,000 characters before the cursor",
  },
  {
    path: "app/process/git-settings.ts",
    written: String.raw`/\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:\\[^\n]|[^"\\\n])*)")?\]|([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=((?:"(?:\\[\s\S]|[^"\\\n])*"|\\[\s\S]|[^"\\\n;#])*)(?:[;#][^\n]*)?)?(?=\n|$)|[;#][^\n]*|[ \t\r\n]+/y`,
    reason:
      "a place where it fails ends the reading, so it is tried once for each part; no part can be read in two ways",
    worst: {
      expression:
        /\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:\\[^\n]|[^"\\\n])*)")?\]|([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=((?:"(?:\\[\s\S]|[^"\\\n])*"|\\[\s\S]|[^"\\\n;#])*)(?:[;#][^\n]*)?)?(?=\n|$)|[;#][^\n]*|[ \t\r\n]+/y,
      text: (length) => `a = ${'"b" '.repeat(length / 4)}"`,
    },
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: String.raw`/^[ \t]*[0-9a-f]{4,16}:?[ \t]+((?:[0-9a-f]{2}){1,8}(?:[ \t]{1,2}(?:[0-9a-f]{2}){1,8}){0,63})(?:[ \t]{2,}[^\r\n]*|[ \t]*\|[^\r\n]*)?(?:\r?\n|$)/gim`,
    reason: "begins at the start of a line only, and what may overlap takes the rest of the line, which always ends it",
    worst: {
      expression:
        /^[ \t]*[0-9a-f]{4,16}:?[ \t]+((?:[0-9a-f]{2}){1,8}(?:[ \t]{1,2}(?:[0-9a-f]{2}){1,8}){0,63})(?:[ \t]{2,}[^\r\n]*|[ \t]*\|[^\r\n]*)?(?:\r?\n|$)/gim,
      text: (length) => `0000 aa${" ".repeat(length)}\r0000 a`,
    },
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: String.raw`/(?:[0-9a-f]{2}(?:(?:[\s:,.-]|\\n){1,5}(?:0x|\\x)?)?){7,}[0-9a-f]{2}/gi`,
    reason: "fails only before the eighth byte, and each byte with what follows it has a bounded length",
    worst: {
      expression: /(?:[0-9a-f]{2}(?:(?:[\s:,.-]|\\n){1,5}(?:0x|\\x)?)?){7,}[0-9a-f]{2}/gi,
      text: (length) => "aa:aa:aa:aa:aa:aa:aa:x".repeat(length / 22),
    },
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: String.raw`/\b\d{1,3}(?:[\s,;]{1,6}\d{1,3}\b){7,}/g`,
    reason: "fails only before the eighth number, and each number with what follows it has a bounded length",
    worst: {
      expression: /\b\d{1,3}(?:[\s,;]{1,6}\d{1,3}\b){7,}/g,
      text: (length) => "1,1,1,1,1,1,1,x".repeat(length / 15),
    },
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: "new RegExp(`[%\\\\\\\\&${UNSEEN}]`)",
    reason: "one character",
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: String.raw`/^[ \t]*[0-9a-f]{4,16}:?[ \t]/im`,
    reason: "begins at the start of a line only, and takes nothing of the next one",
    worst: { expression: /^[ \t]*[0-9a-f]{4,16}:?[ \t]/im, text: (length) => " ".repeat(length) },
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: 'new RegExp(ESCAPE, "gi")',
    reason: "choices of bounded length",
  },
  {
    path: "runtime/secrets/decodings.ts",
    written: String.raw`/^[ \t]*[0-9a-f]{6,16}:?[ \t]+|\s+/gim`,
    reason: "the first choice begins at the start of a line only, and nothing follows the second one",
    worst: { expression: /^[ \t]*[0-9a-f]{6,16}:?[ \t]+|\s+/gim, text: (length) => " ".repeat(length) },
  },
  {
    path: "app/tools/html-tokens.ts",
    written: 'new RegExp(`</${name}(?=[\\\\s/>])`, "gi")',
    reason: "the name is one of our own list of elements; no repetition",
    worst: { expression: /<\/script(?=[\s/>])/gi, text: (length) => "</script".repeat(length / 8) },
  },
  {
    path: "core/character-class.ts",
    written: 'new RegExp(`\\\\p{${property}}`, "u")',
    reason: "one class of characters, and never matched",
  },
  {
    path: "runtime/schema/scalar-rules.ts",
    written: 'new RegExp(`^(?:${pattern})$`, "u")',
    reason: "begins at the start of the text only, and repetitions are divided by characters that they do not hold",
    worst: {
      expression:
        /^(?:[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,})$/u,
      text: (length) => `a@${"a-.".repeat(length / 3)}`,
    },
  },
];
