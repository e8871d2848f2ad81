/** The tool `agents_find`: which of many agents fits, by the words of their names and descriptions. */

import * as z from "zod";
import type { AgentDefinition } from "../../core/agent.ts";
import { oneLine, shortened } from "../../core/clean-text.ts";
import { nearestFirst } from "../../core/nearest.ts";
import type { StandardSchema } from "../../core/schema.ts";
import { type Tool, tool } from "../../core/tool.ts";
import { utf8Length } from "../../core/usage.ts";
import { type AgentFacts, agentLine, DESCRIPTIONS } from "./prompts.ts";
import { sentenceSchema } from "./sentence-schema.ts";

const MAX_QUERY = 1000;
const MAX_WORDS = 32;
const MAX_FOUND = 20;
const MAX_RESULT_BYTES = 8192;
const MAX_ABOUT = 600;

const findInput: StandardSchema<{ query: string }> = sentenceSchema(
  z.strictObject({
    query: z
      .string()
      .refine((text) => text.trim() !== "")
      .describe("What the agent should be good at, in a few words."),
  }),
  { query: "query cannot be empty" },
);

/** Looks among these agents and no others. */
export function findAgentsTool(agents: readonly AgentDefinition[]): Tool {
  let known: readonly Known[] | undefined;
  return tool({
    name: "agents_find",
    description: DESCRIPTIONS.find,
    category: "subagent",
    effect: "read",
    inputSchema: findInput,
    execute: ({ query }) => {
      known ??= agents.map(toKnown);
      return foundText(query, known);
    },
  }) as Tool;
}

/** An agent, and the words it is found by. */
type Known = AgentFacts & {
  readonly about: string;
  readonly nameWords: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
};

function toKnown({ name, nickname, description }: AgentDefinition): Known {
  const about = oneLine(description);
  return {
    name,
    about,
    nameWords: new Set([name.toLowerCase(), ...wordsOf(`${name} ${nickname ?? ""}`)]),
    words: new Set(wordsOf(about)),
  };
}

/** Lower case, without the `s` of a plural. */
function wordsOf(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => (word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word));
}

function foundText(query: string, known: readonly Known[]): string {
  const asked = [...new Set(wordsOf(query.slice(0, MAX_QUERY)))].slice(0, MAX_WORDS);
  const rarity = new Map(asked.map((word) => [word, rarityOf(word, known)]));
  const found = known
    .map((each, index) => ({ each, index, score: scoreOf(query, each, rarity) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || one.index - other.index)
    .map(({ each }) => each);
  if (found.length > 0) return lines(found).join("\n");
  const names = known.map(({ name }) => name);
  const nearest = nearestFirst(query.slice(0, MAX_QUERY).trim(), names).slice(0, MAX_FOUND);
  return `No agent has a word of this query. There are ${known.length}, such as ${nearest.join(", ")}.`;
}

function lines(found: readonly Known[]): string[] {
  const shown: string[] = [];
  let left = MAX_RESULT_BYTES - 100;
  for (const each of found.slice(0, MAX_FOUND)) {
    const line = agentLine(each, shortened(each.about, MAX_ABOUT));
    left -= utf8Length(line) + 1;
    if (left < 0) break;
    shown.push(line);
  }
  const more = found.length - shown.length;
  return more === 0 ? shown : [...shown, `[Notice: ${more} more; ask with other words to see them]`];
}

/** A word that every agent has says nothing. */
function rarityOf(word: string, known: readonly Known[]): number {
  const count = known.filter(({ nameWords, words }) => nameWords.has(word) || words.has(word)).length;
  return Math.log(1 + known.length / (1 + count));
}

function scoreOf(query: string, { name, nameWords, words }: Known, rarity: ReadonlyMap<string, number>): number {
  let score = query.trim().toLowerCase() === name.toLowerCase() ? 1000 : 0;
  for (const [word, weight] of rarity) {
    if (nameWords.has(word)) score += 3 * weight;
    else if (words.has(word)) score += weight;
    else if (word.length > 2 && begins(nameWords, word)) score += 1.5 * weight;
    else if (word.length > 2 && begins(words, word)) score += 0.5 * weight;
  }
  return score;
}

/** Either begins with the other: `test` and `testing`. */
function begins(words: ReadonlySet<string>, word: string): boolean {
  for (const each of words) {
    if (each.startsWith(word) || (each.length > 3 && word.startsWith(each))) return true;
  }
  return false;
}
