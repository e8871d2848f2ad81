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
    path: "cli/chat/editor.ts",
    written: String.raw`/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u`,
    reason: "looks at no more than the last 1,000 characters before the cursor",
  },
  {
    path: "core/token-shapes.ts",
    written: 'new RegExp(SHAPES.map(({ pattern }) => `(${pattern.source})`).join("|"), "y")',
    reason: "joins expressions that are each proved, as choices at one place; every repetition in them is bounded",
    worst: {
      expression: /sk-[\w-]{20,400}|eyJ[\w-]{10,2000}\.eyJ[\w-]{8,400}/g,
      text: (length) => "eyJ-".repeat(length / 4),
    },
  },
  {
    path: "loop/parse-output.ts",
    written: "/^\\s*```(?:json)?\\s*\\n([\\s\\S]*?)\\n?```\\s*$/",
    reason: "being replaced: see core/fenced.ts",
  },
  {
    path: "rights/shell-command.ts",
    written: '/"((?:[^"\\\\$`\\n]|\\\\[^\\n])*)"/y',
    reason: "being replaced by a parser; a command has a length limit",
  },
  {
    path: "rights/suspect-command.ts",
    written: String.raw`/^(?:if|then|else|elif|do|while|until|!|time|-p|--|coproc|function|\{|[A-Za-z_]\w*(?:\[.*\])?\+?=.*)$/s`,
    reason: "being replaced by a parser; a command has a length limit",
  },
  {
    path: "tools/html-tokens.ts",
    written: 'new RegExp(`</${name}(?=[\\\\s/>])`, "gi")',
    reason: "the name is one of our own list of elements; no repetition",
    worst: { expression: /<\/script(?=[\s/>])/gi, text: (length) => "</script".repeat(length / 8) },
  },
  {
    path: "tools/pattern-syntax.ts",
    written: 'new RegExp(`^\\\\p{${found?.[1]}}$`, "u")',
    reason: "one class of characters, tried on one character",
  },
  {
    path: "tools/protected-paths.ts",
    written: "/:.*$/s",
    reason: "one name of a path, and paths have at most 4,000 characters",
  },
  {
    path: "tools/protected-paths.ts",
    written: "/[. ]+$/",
    reason: "one name of a path, and paths have at most 4,000 characters",
  },
];
