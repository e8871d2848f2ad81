/** Source files as the reference reads them: declarations, their text, and the doc comments before them. */

import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseSync } from "rolldown/utils";

const sourceFolder: string = resolve(import.meta.dirname, "../../packages/sous/src");

type Parsed = ReturnType<typeof parseSync>;
type Statement = Parsed["program"]["body"][number];
export type Declaration = NonNullable<Extract<Statement, { type: "ExportNamedDeclaration" }>["declaration"]>;

export type Source = { file: string; text: string; body: readonly Statement[]; comments: Parsed["comments"] };

/** A declaration that others can import, with the place where its statement begins. */
export type Exported = { source: Source; declaration: Declaration; start: number };

const sources = new Map<string, Source>();

/** `path` is relative to `packages/sous/src`, or absolute. */
export function readSource(path: string): Source {
  const file = resolve(sourceFolder, path);
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const source = { file, text, body: program.body, comments };
  sources.set(file, source);
  return source;
}

/** The names a door of the package exports, each with the file it comes from, and whether as a type alone. */
export function exportedNames(door: string): { name: string; from: Source; isType: boolean }[] {
  const source = readSource(door);
  return source.body.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || statement.source === null) return [];
    const from = readSource(join(dirname(source.file), statement.source.value));
    return statement.specifiers.map(({ local, exportKind }) => ({
      name: local.type === "Literal" ? local.value : local.name,
      from,
      isType: statement.exportKind === "type" || exportKind === "type",
    }));
  });
}

/** Every exported declaration of a name: more than one for a function with overloads. */
export function findExported(source: Source, name: string): Exported[] {
  return source.body.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) return [];
    const { declaration, start } = statement;
    return nameOf(declaration) === name ? [{ source, declaration, start }] : [];
  });
}

/** The declaration behind a name that a file uses: its own, or one that it imports. */
export function findUsed(source: Source, name: string): Exported | undefined {
  const [own] = findExported(source, name);
  if (own !== undefined) return own;
  for (const statement of source.body) {
    if (statement.type !== "ImportDeclaration" || !statement.source.value.startsWith(".")) continue;
    if (!statement.specifiers.some(({ local }) => local.name === name)) continue;
    return findExported(readSource(join(dirname(source.file), statement.source.value)), name)[0];
  }
  return undefined;
}

/** What the first comment of a file says the module is for. */
export function moduleDoc({ comments }: Source): string {
  return comments[0] === undefined ? "" : plainText(comments[0].value);
}

/** The doc comment right before a position; nothing but the signs given may stand between, and no empty line. */
export function docBefore({ text, comments }: Source, position: number, signs = ""): string {
  const comment = comments.findLast(({ type, end }) => type === "Block" && end <= position);
  if (comment === undefined || !comment.value.startsWith("*")) return "";
  // A remark for the linter may come last.
  const between = text.slice(comment.end, position).replaceAll(/[ \t]*\/\/ biome-ignore.*\n/g, "");
  const isAway = [...between].some((character) => character.trim() !== "" && !signs.includes(character));
  return isAway || /\n[ \t]*\n[ \t]*$/.test(between) ? "" : plainText(comment.value);
}

function plainText(comment: string): string {
  return comment
    .slice(1)
    .split("\n")
    .map((line) => line.trim().replace(/^\* ?/, ""))
    .join(" ")
    .trim();
}

export function textOf({ text }: Source, { start, end }: { start: number; end: number }): string {
  return text.slice(start, end);
}

function nameOf(declaration: Declaration): string | undefined {
  if (declaration.type === "VariableDeclaration") {
    const id = declaration.declarations[0]?.id;
    return id?.type === "Identifier" ? id.name : undefined;
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? declaration.id.name : undefined;
}
