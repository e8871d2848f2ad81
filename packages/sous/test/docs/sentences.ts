/** The sentences in which sous tells people what is wrong, as the sources have them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { sourceFolder } from "../source-files.ts";

/** The fixed pieces of a sentence, in their order; what is filled in lies between them. */
export type Sentence = { file: string; pieces: string[] };

/** What a person can get to see from these; what is wrong with a command line says itself what is right. */
const THROWN = new Set(["CommandError", "UserError", "MissingKey", "StoreError"]);
/** What the command line is made of. */
const FOLDERS = ["cli", "config", "model", "process", "rights", "store"];
const NOT_ON_THE_COMMAND_LINE = /^store\/(postgres|conversations|memory|shared-budget|purse-row)/;

export function sentencesInSources(): Sentence[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(sourceFolder, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `${folder}/${path}`),
  )
    .filter((path) => !NOT_ON_THE_COMMAND_LINE.test(path))
    .flatMap(sentencesOf);
}

type Node = ReturnType<typeof parseSync>["program"]["body"][number] | { type: string };

function sentencesOf(file: string): Sentence[] {
  const text = readFileSync(join(sourceFolder, file), "utf8");
  if (![...THROWN].some((name) => text.includes(`new ${name}(`))) return [];
  const { program } = parseSync(file, text);
  const found: Sentence[] = [];
  new Visitor({
    NewExpression(node) {
      if (node.callee.type !== "Identifier" || !THROWN.has(node.callee.name)) return;
      const [message] = node.arguments;
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
  return [];
}

/** Signs and single words say nothing. */
function worthy(pieces: readonly string[]): string[] {
  return pieces.map((piece) => piece.trim()).filter((piece) => /[a-z]+ [a-z]+/i.test(piece));
}
