/** The providers a `"provider/model"` string may name, and which variables of the environment belong to each. */

export type ProviderFacts = {
  /** Where the key is looked for, in this order; the first one is named when none is set. */
  keys: readonly string[];
  /** Variables that hold the base URL. */
  addresses: readonly string[];
  /** The base URL when none of them is set; undefined when one of them must be. */
  defaultAddress: string | undefined;
  /** A local server, which needs no key. */
  isKeyOptional: boolean;
};

/**
 * `openai` speaks the responses protocol, `openai-chat` the older chat completions. All below `google` speak chat
 * completions too, as most servers do.
 */
export const PROVIDERS = {
  anthropic: {
    keys: ["ANTHROPIC_API_KEY"],
    addresses: ["ANTHROPIC_BASE_URL"],
    defaultAddress: "https://api.anthropic.com/v1",
    isKeyOptional: false,
  },
  openai: openAi(),
  "openai-chat": openAi(),
  google: {
    keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    addresses: ["GOOGLE_GENERATIVE_AI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    defaultAddress: "https://generativelanguage.googleapis.com/v1beta",
    isKeyOptional: false,
  },
  "openai-compatible": {
    keys: ["OPENAI_COMPATIBLE_API_KEY"],
    addresses: ["OPENAI_COMPATIBLE_BASE_URL"],
    defaultAddress: undefined,
    isKeyOptional: true,
  },
  openrouter: {
    keys: ["OPENROUTER_API_KEY"],
    addresses: ["OPENROUTER_BASE_URL"],
    defaultAddress: "https://openrouter.ai/api/v1",
    isKeyOptional: false,
  },
  vllm: local("VLLM", "http://127.0.0.1:8000/v1"),
  lmstudio: local("LMSTUDIO", "http://127.0.0.1:1234/v1"),
  ollama: {
    keys: ["OLLAMA_API_KEY"],
    addresses: ["OLLAMA_HOST"],
    defaultAddress: "http://127.0.0.1:11434",
    isKeyOptional: true,
  },
  "github-copilot": {
    keys: ["GITHUB_COPILOT_TOKEN", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    addresses: ["GITHUB_COPILOT_BASE_URL"],
    // The exchange of tokens says where to go.
    defaultAddress: "https://api.githubcopilot.com",
    isKeyOptional: false,
  },
} as const satisfies Record<string, ProviderFacts>;

export type ProviderName = keyof typeof PROVIDERS;

export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name);
}

/** The variable in which a person sets the key of a model, for error messages. */
export function keyVariable(modelId: string): string | undefined {
  const provider = modelId.split("/", 1)[0] ?? "";
  return isProviderName(provider) ? PROVIDERS[provider].keys[0] : undefined;
}

function openAi() {
  return {
    keys: ["OPENAI_API_KEY"],
    addresses: ["OPENAI_BASE_URL"],
    defaultAddress: "https://api.openai.com/v1",
    isKeyOptional: false,
  } as const;
}

function local<Prefix extends string>(prefix: Prefix, defaultAddress: string) {
  return {
    keys: [`${prefix}_API_KEY`],
    addresses: [`${prefix}_BASE_URL`],
    defaultAddress,
    isKeyOptional: true,
  } as const;
}
