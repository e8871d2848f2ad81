/** R4: answers that break off in every kind of part, on every protocol over HTTP: what the provider bills, and what sous counts. */

import { anthropic } from "@ai-sdk/anthropic";
import { google } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";
import { readStats } from "../../src/app/cli/stats/sums.ts";
import { agent } from "../../src/core/agent.ts";
import { type Budget, METERED_OUTPUT } from "../../src/core/limits.ts";
import type { ToolList } from "../../src/core/tool.ts";
import type { Usage } from "../../src/core/usage.ts";
import { systemClock, systemHost } from "../../src/machine/host.ts";
import { resolveModel } from "../../src/runtime/model/resolve.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openMemoryStore } from "../../src/storage/store/memory.ts";
import { seededRandom } from "../../src/testing/world.ts";
import { spansOf, traceProblems } from "../support/bridges/telemetry/traced.ts";
import { PLACES, type Place, WIRES, type Wire } from "../support/runtime/model/cut-streams.ts";
import {
  type Bill,
  type CutPlan,
  cuttingProvider,
  PRICE,
  SEARCH_USD,
  TASK,
} from "../support/runtime/model/cutting-provider.ts";

export type CutFigure = {
  model: string;
  place: Place;
  budget: Budget;
  status: string;
  bill: Bill;
  /** Of the whole tree, by the result. */
  usage: Usage;
  costUsd: number | null;
  /** The bill of the provider as a part of the limit. */
  ofLimit: number;
  /** Output that was charged for the cuts, as a multiple of what the provider has generated for them. */
  outputRatio: number;
  /** Where ledger, statistics, spans and result differ, and where more than the limit was spent. */
  problems: string[];
};

/** Retries wait for a hundredth of their time. */
const HURRIED = systemHost({
  clock: { ...systemClock, timer: (milliseconds, callback) => systemClock.timer(milliseconds / 100, callback) },
});

/** The place on each protocol that has it. */
export function cutsOf(places: readonly Place[] = PLACES): { wire: Wire; place: Place }[] {
  return places.flatMap((place) =>
    WIRES.flatMap((wire) => (wire.cutAt(place, 1, { fresh: 1, cached: 1 }) === undefined ? [] : [{ wire, place }])),
  );
}

/** Tokens or money that are too little for all calls. */
const BUDGETS: readonly Budget[] = [{ tokens: 60_000 }, { costUsd: 0.7 }];

/** Every place under both limits, with caps near to what was generated and far above it, and cut at any byte. */
export async function measureAllCuts(seed: number): Promise<CutFigure[]> {
  const figures: CutFigure[] = [];
  const random = seededRandom(seed, "cuts");
  for (const cut of cutsOf())
    for (const budget of BUDGETS)
      for (const more of [{}, { maxOutputTokens: 16_000 }, { random }, { random, tokens: 400 }])
        figures.push(await measureCuts({ ...cut, budget, ...more }));
  return figures;
}

export function isReached({ problems, ofLimit }: CutFigure): boolean {
  return problems.length === 0 && ofLimit <= 1;
}

type Asked = Pick<CutPlan, "wire" | "place"> & Partial<CutPlan> & { budget: Budget; maxOutputTokens?: number };

export async function measureCuts(given: Asked, create: typeof createRuntime = createRuntime): Promise<CutFigure> {
  const { budget, maxOutputTokens, ...asked } = given;
  const plan: CutPlan = { tokens: 3_600, cutsPerCall: 3, children: 4, bytesPerToken: 4, ...asked };
  const { wire, place } = plan;
  await using provider = await cuttingProvider(plan);
  const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", OPENAI_COMPATIBLE_API_KEY: "k" };
  const model = await resolveModel(wire.model, keys, { baseUrl: provider.baseUrl });
  const store = openMemoryStore();
  const calls = wire.search === undefined ? {} : { [wire.search]: SEARCH_USD };
  const runtime = create({
    store,
    host: HURRIED,
    models: { prices: { [wire.model]: { ...PRICE, calls } } },
  });
  const tools = place === "in a tool of the provider" ? searchOf(wire) : {};
  const lead = agent({ name: "lead", model, delegate: true, tools, ...(maxOutputTokens && { maxOutputTokens }) });
  const handle = runtime.run(lead, TASK, { budget });
  const result = await handle.result;
  const { usage, costUsd, status } = result;
  const events = await store.read(result.runId);
  const spending = handle.spending().limits;
  const stats = (await readStats(store, undefined)).total;
  const { bill } = provider;
  const problems = traceProblems(spansOf(events), events);
  const differ = (what: string, here: unknown, there: unknown) => {
    if (JSON.stringify(here) !== JSON.stringify(there))
      problems.push(`${what}: ${JSON.stringify(here)}, the result ${JSON.stringify(there)}`);
  };
  differ("stats", stats.usage, usage);
  differ("cost of stats", usd(stats.costUsd), usd(costUsd));
  for (const { unit, spent, limit } of spending) {
    differ(
      `ledger, ${unit}`,
      unit === "tokens" ? spent : usd(spent),
      unit === "tokens" ? usage.totalTokens : usd(costUsd),
    );
    if (spent > limit + 1e-9) problems.push(`${spent} ${unit} of ${limit} were spent`);
  }
  // A cut within an event leaves out what was generated for it.
  const missing = plan.random === undefined ? 0 : bill.cuts * 40;
  if (bill.tokens > usage.totalTokens + missing)
    problems.push(`The provider bills ${bill.tokens} tokens, the result has ${usage.totalTokens}`);
  if (bill.costUsd > (costUsd ?? 0) + (missing * PRICE.output) / 1e6)
    problems.push(`The provider bills ${usd(bill.costUsd)}, the result has ${usd(costUsd)}`);
  if (bill.cuts > 0 && !usage.estimated) problems.push("The usage is not marked as estimated");
  const { tokens = 0, costUsd: limitUsd = 0 } = budget;
  const charges = events.flatMap((event) => (event.type === "retry" ? [event.spent.outputTokens] : []));
  const cap = maxOutputTokens ?? METERED_OUTPUT;
  if (charges.some((charge) => charge > cap)) problems.push(`More than the cap of ${cap} is charged: ${charges}`);
  const outputRatio = charges.reduce((sum, charge) => sum + charge, 0) / bill.outputOfCuts;
  // Where all that was generated has arrived, the estimate is near to it, whatever the cap.
  const isMeasured =
    /^in (?:text|the arguments)/.test(place) &&
    /^(?:anthropic|openai-compatible)/.test(wire.model) &&
    plan.random === undefined;
  if (isMeasured && outputRatio > 1.5) problems.push(`The cuts are charged with ${outputRatio} times their output`);
  return {
    ...{ model: wire.model, place, budget, status, bill, usage, costUsd },
    ofLimit: Math.max(tokens === 0 ? 0 : bill.tokens / tokens, limitUsd === 0 ? 0 : bill.costUsd / limitUsd),
    outputRatio,
    problems,
  };
}

function usd(amount: number | null): string {
  return amount === null ? "unknown" : amount.toFixed(8);
}

function searchOf({ search }: Wire): ToolList {
  if (search?.startsWith("anthropic.")) return { web_search: anthropic.tools.webSearch_20250305() };
  if (search?.startsWith("openai.")) return { web_search: openai.tools.webSearch() };
  return { google_search: google.tools.googleSearch({}) };
}
