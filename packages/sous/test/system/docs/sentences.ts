/** The sentences in which sous says what is wrong, as the sources have them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { sourceFolder } from "../../support/source-files.ts";

/** The fixed pieces of a sentence, in their order; what is filled in lies between them. */
export type Sentence = { file: string; pieces: string[] };

/** What the files below these folders throw as one of these classes. */
export function sentencesThrown(classes: readonly string[], folders: readonly string[]): Sentence[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(sourceFolder, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts"))
        .map((path) => `${folder}/${path}`),
    )
    .flatMap((file) => sentencesOf(file, classes));
}

type Node = ReturnType<typeof parseSync>["program"]["body"][number] | { type: string };

function sentencesOf(file: string, classes: readonly string[]): Sentence[] {
  const text = readFileSync(join(sourceFolder, file), "utf8");
  if (!classes.some((name) => text.includes(`new ${name}(`))) return [];
  const { program } = parseSync(file, text);
  const found: Sentence[] = [];
  new Visitor({
    NewExpression(node) {
      if (node.callee.type !== "Identifier" || !classes.includes(node.callee.name)) return;
      const message = node.arguments[0];
      if (message !== undefined) for (const pieces of piecesOf(message)) found.push({ file, pieces });
    },
  }).visit(program);
  return found.filter(({ pieces }) => pieces.length > 0);
}

/** One list for each sentence that it can be. */
function piecesOf(node: Node): string[][] {
  if (node.type === "Literal" && "value" in node) return [worthy([String(node.value)])];
  if (node.type === "TemplateLiteral" && "quasis" in node)
    return [worthy((node.quasis as { value: { cooked: string | null } }[]).map(({ value }) => value.cooked ?? ""))];
  if (node.type === "ConditionalExpression" && "consequent" in node && "alternate" in node)
    return [...piecesOf(node.consequent as Node), ...piecesOf(node.alternate as Node)];
  if (node.type === "BinaryExpression" && "left" in node && "right" in node) {
    const ends = piecesOf(node.right as Node);
    return piecesOf(node.left as Node).flatMap((start) => ends.map((end) => [...start, ...end]));
  }
  return [];
}

/** Signs and single words say nothing. */
function worthy(pieces: readonly string[]): string[] {
  return pieces.map((piece) => piece.trim()).filter((piece) => /[a-z]+ [a-z]+/i.test(piece));
}
