/** The providers a `"provider/model"` string may name, and which variables of the environment belong to each. */

export type ProviderFacts = {
  /** Variables that may hold the key, in this order; the first one is named when none is set. */
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
  anthropic: remote(["ANTHROPIC_API_KEY"], ["ANTHROPIC_BASE_URL"], "https://api.anthropic.com/v1"),
  openai: remote(["OPENAI_API_KEY"], ["OPENAI_BASE_URL"], "https://api.openai.com/v1"),
  "openai-chat": remote(["OPENAI_API_KEY"], ["OPENAI_BASE_URL"], "https://api.openai.com/v1"),
  google: remote(
    ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ["GOOGLE_GENERATIVE_AI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    "https://generativelanguage.googleapis.com/v1beta",
  ),
  "openai-compatible": local("OPENAI_COMPATIBLE_API_KEY", "OPENAI_COMPATIBLE_BASE_URL", undefined),
  openrouter: remote(["OPENROUTER_API_KEY"], ["OPENROUTER_BASE_URL"], "https://openrouter.ai/api/v1"),
  vllm: local("VLLM_API_KEY", "VLLM_BASE_URL", "http://127.0.0.1:8000/v1"),
  lmstudio: local("LMSTUDIO_API_KEY", "LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1"),
  ollama: local("OLLAMA_API_KEY", "OLLAMA_HOST", "http://127.0.0.1:11434"),
  "github-copilot": remote(
    ["GITHUB_COPILOT_TOKEN", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    ["GITHUB_COPILOT_BASE_URL"],
    // The exchange of tokens says where to go.
    "https://api.githubcopilot.com",
  ),
};

export type ProviderName = keyof typeof PROVIDERS;

export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name);
}

/** The variable in which a person sets the key of a model, for error messages. */
export function keyVariable(modelId: string): string | undefined {
  const provider = modelId.split("/", 1)[0] ?? "";
  return isProviderName(provider) ? PROVIDERS[provider].keys[0] : undefined;
}

function remote(keys: readonly string[], addresses: readonly string[], defaultAddress: string): ProviderFacts {
  return { keys, addresses, defaultAddress, isKeyOptional: false };
}

function local(key: string, address: string, defaultAddress: string | undefined): ProviderFacts {
  return { keys: [key], addresses: [address], defaultAddress, isKeyOptional: true };
}
