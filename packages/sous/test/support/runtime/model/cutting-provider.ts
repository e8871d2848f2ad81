/** A provider over HTTP that cuts each call a few times before it answers it, and keeps its own bill. */

import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Random } from "../../../../src/core/clock.ts";
import type { Body, Cut, Piece, Place, Prompt, Wire } from "./cut-streams.ts";

export const TASK = "Look at all parts.";

export type Bill = { tokens: number; costUsd: number; requests: number; cuts: number; outputOfCuts: number };

export type CutPlan = {
  readonly wire: Wire;
  readonly place: Place;
  /** Output tokens that the provider has generated before a cut. */
  readonly tokens: number;
  readonly cutsPerCall: number;
  readonly children: number;
  /** Bytes of a request that are one token of its prompt. */
  readonly bytesPerToken: number;
  /** Draws the byte at which an answer is cut; the ways of cutting take turns when unset. */
  readonly random?: Random | undefined;
};

/** US dollars per million tokens, and of one search. */
export const PRICE = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };
export const SEARCH_USD = 0.01;

export type CuttingProvider = AsyncDisposable & { readonly baseUrl: string; readonly bill: Bill };

export async function cuttingProvider(plan: CutPlan): Promise<CuttingProvider> {
  const bill: Bill = { tokens: 0, costUsd: 0, requests: 0, cuts: 0, outputOfCuts: 0 };
  const cutsOf = new Map<string, number>();
  const server: Server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    response.on("error", () => {});
    const asked = questionOf(text, plan);
    const cuts = cutsOf.get(asked.key) ?? 0;
    const cut = cuts < plan.cutsPerCall ? plan.wire.cutAt(asked.place, asked.tokens, asked.prompt) : undefined;
    bill.requests += 1;
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    if (cut === undefined) return answer(response, asked);
    cutsOf.set(asked.key, cuts + 1);
    bill.cuts += 1;
    await sendCut(response, asked.prompt, cut, WAYS[cuts % WAYS.length] ?? "after an event");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  function answer(response: ServerResponse, { prompt, isToDelegate }: Question): void {
    const { wire, children } = plan;
    const labels = Array.from({ length: children }, (_, index) => `c${index}`);
    const tasks = labels.map((label) => ({ label, task_prompt: `Part ${label}.` }));
    const output = isToDelegate ? 30 * children : 10;
    charge(prompt, { tokens: output });
    const usage = { ...prompt, output };
    if (isToDelegate) response.end(wire.calls("parallel_subagent", { tasks, max_concurrent: children }, usage));
    else response.end(wire.says("All is well here.", usage));
  }

  async function sendCut(response: ServerResponse, prompt: Prompt, cut: Cut, way: Way): Promise<void> {
    const { body, done } = plan.random === undefined ? cutIn(cut, way) : cutAnywhere(cut, plan.random());
    const sum = sumOf(done);
    charge(prompt, sum);
    bill.outputOfCuts += sum.tokens;
    if (body !== "") await new Promise<void>((resolve) => void response.write(body, () => resolve()));
    if (way === "by an end") response.end();
    else response.destroy();
  }

  function charge({ fresh, cached }: Prompt, { tokens = 0, reads = 0, searches = 0 }: Partial<Piece>): void {
    bill.tokens += fresh + cached + reads + tokens;
    const { input, cacheWrite, output } = PRICE;
    bill.costUsd += ((fresh + reads) * input + cached * cacheWrite + tokens * output) / 1e6 + searches * SEARCH_USD;
  }

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    bill,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The ways in which an answer breaks off, one after the other. */
const WAYS = ["after an event", "within an event", "by an end"] as const;
type Way = (typeof WAYS)[number];

/** The text that is sent, and the pieces that the provider bills: one of which the beginning was sent is generated. */
type Sent = { readonly body: string; readonly done: readonly Piece[] };

function cutIn({ before, next }: Cut, way: Way): Sent {
  const body = before.map(({ event }) => event).join("");
  if (way !== "within an event") return { body, done: before };
  return { body: body + next.event.slice(0, Math.ceil(next.event.length / 2)), done: [...before, next] };
}

function cutAnywhere({ before, next }: Cut, share: number): Sent {
  const pieces = [...before, next];
  const body = pieces.map(({ event }) => event).join("");
  const end = Math.floor(share * body.length);
  const done: Piece[] = [];
  let sent = 0;
  for (const piece of pieces) {
    if (sent > end || (sent === end && piece.event !== "")) break;
    done.push(piece);
    sent += piece.event.length;
  }
  return { body: body.slice(0, end), done };
}

type Question = {
  /** The run and its turn. */
  readonly key: string;
  readonly prompt: Prompt;
  readonly place: Place;
  readonly tokens: number;
  readonly isToDelegate: boolean;
};

function questionOf(text: string, { wire, place, tokens, bytesPerToken }: CutPlan): Question {
  const body: Body = JSON.parse(text);
  const child = /"Part (c\d+)\./.exec(text)?.[1];
  const isLead = child === undefined || text.includes(TASK);
  const hasResults = /"(?:tool_result|function_call_output|functionResponse)"|"role":"tool"/.test(text);
  const cap = Number(wire.capOf(body) ?? Number.POSITIVE_INFINITY);
  const size = Math.ceil(text.length / bytesPerToken);
  const cached = Math.floor(size / 2);
  const isLast = isLastTurn(body);
  return {
    key: `${isLead ? "lead" : child} ${hasResults}`,
    prompt: { fresh: size - cached, cached },
    place: isLast && place === "in a tool of the provider" ? "in text" : place,
    // The last event may be cut too, and a provider keeps to the cap.
    tokens: Math.max(0, Math.min(tokens, cap - 80)),
    isToDelegate: isLead && !hasResults && !isLast,
  };
}

/** The tools are shown and may not be called. */
function isLastTurn({ tool_choice: choice, toolConfig }: Body): boolean {
  return choice === "none" || choice?.type === "none" || toolConfig?.functionCallingConfig?.mode === "NONE";
}

function sumOf(pieces: readonly Piece[]): { tokens: number; reads: number; searches: number } {
  const sum = { tokens: 0, reads: 0, searches: 0 };
  for (const { tokens = 0, reads = 0, searches = 0 } of pieces) {
    sum.tokens += tokens;
    sum.reads += reads;
    sum.searches += searches;
  }
  return sum;
}
