/** `"provider/model"` to a `Model`. The package of a provider is loaded when it is first named, and not before. */

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelChoice } from "../../core/agent.ts";
import { MissingKey, UserError } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import { nearest } from "../../core/nearest.ts";
import { type AdapterOptions, fromAiSdk, isForeignModel } from "./ai-sdk.ts";
import type { CallFacts } from "./body-check.ts";
import { copilotFetch, copilotTokenAddress } from "./copilot.ts";
import { modelFetch, unredirectedFetch } from "./model-fetch.ts";
import { isProviderName, PROVIDERS, type ProviderFacts, type ProviderName } from "./providers.ts";

/** Variables by name, as in `process.env`; empty ones count as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that override the environment. */
export type ResolveOptions = {
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** The function to use instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  maxRetries?: number | undefined;
  /** A server that says nothing for this long is given up; 120,000 when unset. */
  silenceMs?: number | undefined;
  /** The time one call may take from its beginning to its end; 20 minutes when unset. */
  callTimeoutMs?: number | undefined;
  /** The longest that a call may be refused for the rate of the provider; 10 minutes when unset. */
  maxRateWaitMs?: number | undefined;
};

const SILENCE_MS = 120_000;

/** A new `Model` for each call; runs share a governor if they share the `Model`. */
export async function resolveModel(
  choice: string,
  environment: Environment,
  options: ResolveOptions = {},
): Promise<Model> {
  const { provider, modelId } = parseChoice(choice);
  const facts = PROVIDERS[provider];
  const apiKey = options.apiKey ?? firstSet(facts.keys, environment);
  if (apiKey === undefined && !facts.isKeyOptional) {
    throw new MissingKey(`The model ${choice} needs a key: set ${facts.keys.join(" or ")} (${KNOWN})`);
  }
  const setup: Setup = {
    provider,
    modelId,
    apiKey: apiKey ?? "",
    baseUrl: addressOf(choice, environment, options.baseUrl),
    headers: { ...options.headers },
    fetch: unredirectedFetch(options.fetch),
    calls: {
      id: choice,
      addressSettings: ["provider.base_url", ...facts.addresses].join(" or "),
      silenceMs: options.silenceMs ?? SILENCE_MS,
    },
    environment,
  };
  return fromAiSdk(await LOADERS[provider](setup), {
    id: choice,
    providerOptions: PROVIDER_OPTIONS[provider],
    maxRetries: options.maxRetries,
    callTimeoutMs: options.callTimeoutMs,
    maxRateWaitMs: options.maxRateWaitMs,
  });
}

/** The address of a model and the variables that may hold its key, without looking at any key. */
export type ModelDescription = Pick<ProviderFacts, "keys" | "isKeyOptional"> & { readonly address: string };

/** Throws a `UserError` for a name without a model. */
export function describeModel(
  choice: string,
  environment: Environment,
  { baseUrl }: Pick<ResolveOptions, "baseUrl"> = {},
): ModelDescription {
  const { keys, isKeyOptional } = PROVIDERS[parseChoice(choice).provider];
  return { keys, isKeyOptional, address: addressOf(choice, environment, baseUrl) };
}

function addressOf(choice: string, environment: Environment, given: string | undefined): string {
  const { provider } = parseChoice(choice);
  const { addresses, defaultAddress } = PROVIDERS[provider];
  const address = given ?? firstSet(addresses, environment) ?? defaultAddress;
  if (address !== undefined) return toBaseUrl(provider, address);
  throw new UserError(`The model ${choice} needs the address of its server: set ${addresses.join(" or ")} (${KNOWN})`);
}

const KNOWN = `known providers: ${Object.keys(PROVIDERS).join(", ")}`;

function parseChoice(choice: string): { provider: ProviderName; modelId: string } {
  const slash = choice.indexOf("/");
  const provider = choice.slice(0, slash);
  const modelId = choice.slice(slash + 1);
  if (slash <= 0 || modelId === "") {
    throw new UserError(`A model is named "provider/model", found ${JSON.stringify(choice)} (${KNOWN})`);
  }
  if (!isProviderName(provider)) {
    const meant = nearestProvider(provider);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new UserError(`No model provider is called ${JSON.stringify(provider)}${hint} (${KNOWN})`);
  }
  return { provider, modelId };
}

/** Names of products that are not names of providers. */
const PRODUCTS: Readonly<Record<string, ProviderName>> = { claude: "anthropic", gemini: "google", gpt: "openai" };

/** `copilot` is a part of the name, `antropic` one that is misspelled. */
function nearestProvider(given: string): string | undefined {
  const name = given.toLowerCase();
  const names = Object.keys(PROVIDERS);
  const whole = names.find((each) => each === name || each.split("-").includes(name));
  return whole ?? (Object.hasOwn(PRODUCTS, name) ? PRODUCTS[name] : undefined) ?? nearest(name, names);
}

function firstSet(names: readonly string[], environment: Environment): string | undefined {
  for (const name of names) if (environment[name]) return environment[name];
  return undefined;
}

/** The path that the adapter needs, for variables whose usual value has none. */
const PATHS: Partial<Record<ProviderName, string>> = { anthropic: "/v1", google: "/v1beta", ollama: "/v1" };

function toBaseUrl(provider: ProviderName, address: string): string {
  const url = URL.parse(provider === "ollama" ? toOllamaAddress(address) : address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UserError(`The address of ${provider} is not a URL that begins with http:// or https://: ${address}`);
  }
  if (url.pathname === "/") url.pathname = PATHS[provider] ?? "";
  return url.href.replace(/\/$/, "");
}

/** OLLAMA_HOST is also what the server listens on, so it may lack the scheme and the port or name every interface. */
function toOllamaAddress(host: string): string {
  if (/^https?:\/\//.test(host)) return host;
  const url = URL.parse(`http://${host}`);
  if (url === null) return host;
  if (url.port === "" && !/:80\b/.test(host)) url.port = "11434";
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return url.href;
}

type Setup = {
  provider: ProviderName;
  modelId: string;
  apiKey: string;
  baseUrl: string;
  headers: Record<string, string>;
  /** The `fetch` for requests that are not model calls, such as an exchange of tokens. */
  fetch: typeof globalThis.fetch;
  calls: CallFacts;
  environment: Environment;
};

/** Every setting is given, so that no adapter looks into the environment of the process. */
const LOADERS: Record<ProviderName, (setup: Setup) => Promise<LanguageModelV4>> = {
  anthropic: async ({ modelId, apiKey, baseUrl, headers, fetch, calls }) => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ apiKey, baseURL: baseUrl, headers, fetch: modelFetch(fetch, calls) })(modelId);
  },
  openai: async (setup) => (await loadOpenAi(setup)).responses(setup.modelId),
  "openai-chat": async (setup) => (await loadOpenAi(setup)).chat(setup.modelId),
  google: async ({ modelId, apiKey, baseUrl, headers, fetch, calls }) => {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle({ apiKey, baseURL: baseUrl, headers, fetch: modelFetch(fetch, calls) })(modelId);
  },
  "openai-compatible": loadCompatible,
  openrouter: loadCompatible,
  vllm: loadCompatible,
  lmstudio: loadCompatible,
  ollama: loadCompatible,
  "github-copilot": (setup) =>
    loadCompatible({
      ...setup,
      apiKey: "",
      fetch: copilotFetch({
        githubToken: setup.apiKey,
        tokenAddress: copilotTokenAddress(setup.environment.GITHUB_API_URL),
        followsHost: setup.baseUrl === PROVIDERS["github-copilot"].defaultAddress,
        fetch: setup.fetch,
        now: Date.now,
      }),
    }),
};

const COMPATIBLE_OPTIONS = { openaiCompatible: { strictJsonSchema: false } };

/**
 * OpenAI would store every answer for a month. The journal stores it here, so `store` is off, and reasoning travels
 * encrypted in the prompt. Schemas need not be strict: the runtime checks answers itself.
 */
const PROVIDER_OPTIONS: Partial<Record<ProviderName, NonNullable<AdapterOptions["providerOptions"]>>> = {
  openai: { openai: { store: false, strictJsonSchema: false } },
  "openai-chat": { openai: { strictJsonSchema: false } },
  "openai-compatible": COMPATIBLE_OPTIONS,
  openrouter: COMPATIBLE_OPTIONS,
  vllm: COMPATIBLE_OPTIONS,
  lmstudio: COMPATIBLE_OPTIONS,
  ollama: COMPATIBLE_OPTIONS,
  "github-copilot": COMPATIBLE_OPTIONS,
};

async function loadOpenAi({ apiKey, baseUrl, headers, fetch, calls }: Setup) {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI({ apiKey, baseURL: baseUrl, headers, fetch: modelFetch(fetch, calls) });
}

const COMPATIBLE = { includeUsage: true, supportsStructuredOutputs: true };

async function loadCompatible(setup: Setup): Promise<LanguageModelV4> {
  const { provider, modelId, apiKey, baseUrl, headers, calls } = setup;
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const key = apiKey === "" ? {} : { apiKey };
  const fetch = modelFetch(setup.fetch, calls);
  return createOpenAICompatible({ name: provider, baseURL: baseUrl, headers, fetch, ...COMPATIBLE, ...key })(modelId);
}

/** Throws a `UserError` for anything but a model; rejects with one for a name without a model. */
export function modelCache(
  environment: Environment,
  optionsFor: (choice: string) => ResolveOptions | Promise<ResolveOptions> = () => ({}),
): (choice: ModelChoice) => Model | Promise<Model> {
  const known = new Map<string, Promise<Model>>();
  const resolve = async (choice: string): Promise<Model> => resolveModel(choice, environment, await optionsFor(choice));
  return (choice) => {
    if (typeof choice !== "string") return toModel(choice);
    const cached = known.get(choice) ?? resolve(choice);
    known.set(choice, cached);
    // A key that is missing now may be set for the next run.
    cached.catch(() => known.delete(choice));
    return cached;
  };
}

function toModel(choice: Exclude<ModelChoice, string>): Model {
  if (isForeignModel(choice)) return fromAiSdk(choice);
  if (isModel(choice)) return choice;
  throw new UserError('A model is "provider/model", a model of the AI SDK, or an object with an id and answer()');
}

function isModel(choice: Partial<Model> | null): choice is Model {
  return typeof choice?.answer === "function" && typeof choice.id === "string";
}
