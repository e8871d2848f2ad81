/** The page of the providers: how a model is named, which variables belong to it, and what is known about prices. */

import { PRICES, PRICES_AS_OF, type PriceRow } from "../../packages/sous/src/runtime/budget/prices.ts";
import { PROVIDERS, type ProviderFacts, type ProviderName } from "../../packages/sous/src/runtime/model/providers.ts";
import { page, table, wrap } from "./markdown.ts";

/** What each is; one that is missing here does not compile. */
const ABOUT: Record<ProviderName, string> = {
  anthropic: "Anthropic",
  openai: "OpenAI, by its responses protocol",
  "openai-chat": "OpenAI, by the older chat completions",
  google: "Google Gemini",
  "openai-compatible": "any server that speaks chat completions",
  openrouter: "OpenRouter",
  vllm: "vLLM on this machine",
  lmstudio: "LM Studio on this machine",
  ollama: "Ollama on this machine",
  "github-copilot": "GitHub Copilot, with a token of an account that has it",
};

const OPTION_ROWS: readonly string[][] = [
  [
    "`anthropic`",
    "up to 1; none while it thinks, and none since Claude Opus 4.7 and Sonnet 5",
    "`effort` and adaptive thinking; a budget of thinking before Claude 4.6; none before Claude 3.7",
    "since Claude 4.1; closed objects without references, at most 10 optional properties",
  ],
  [
    "`openai`, `openai-chat`",
    "none for models that think",
    "`reasoning_effort`; none for GPT-4 and before",
    "since GPT-4o, for an object: strict where all properties are required and every keyword is known, else not strict",
  ],
  [
    "`google`",
    "yes",
    "`thinkingLevel`; a budget of thinking for Gemini 2.5; none before",
    "Gemini; with tools since Gemini 3",
  ],
  ["all others", "yes", "`reasoning_effort`", "in turns without tools"],
  [
    "models of the AI SDK",
    "as the adapter does",
    "`reasoning`",
    "as above for these providers; of others where the model says `supportsStructuredOutputs`, in turns without tools",
  ],
];

export function providersPage(): string {
  return page(
    "Reference: models and providers",
    "Which models can be named, with which variables, and what they cost.",
    [
      wrap(
        "A model is `provider/model`: `anthropic/claude-sonnet-4-5`, `ollama/llama3.2`. What stands after the first slash is sent to the provider as it is. The command line takes it from `--model`, `SOUS_MODEL` or [`model`](config.md#model); code from `model` of an agent.",
      ),
      "## Providers",
      wrap(
        "Set the environment variable of the key; where several are named, the first that is set is used. A base URL is needed only for another address than the usual one. `sous doctor` shows what is set, and `sous doctor --online` tries it.",
      ),
      table(
        ["provider", "what it is", "key", "base URL", "usual address"],
        Object.entries(PROVIDERS).map(([name, facts]) => rowOf(name as ProviderName, facts)),
      ),
      wrap(
        "The command line can also take the key of its provider from another variable ([`provider.api_key_env`](config.md#providerapi_key_env)) or from a program ([`provider.api_key_command`](config.md#providerapi_key_command)), and the address from [`provider.base_url`](config.md#providerbase_url).",
      ),
      "## Models of the AI SDK",
      wrap(
        "In code, `model` also takes a language model of the AI SDK with specification v4: the provider packages of AI SDK 7, such as `@ai-sdk/anthropic` 4. Older packages are refused: update them. Settings that an agent does not have, such as headers, are set there, with the AI SDK's own `wrapLanguageModel` and `defaultSettingsMiddleware`.",
      ),
      "## Options of an agent",
      wrap(
        "`temperature`, `effort`, `toolChoice` and `providerOptions` of `agent()` are put into the words of the provider. A model that is known not to take one is asked without it; [how to set them](../how-to/model-options.md). `effort` is the nearest level that the model has. Thinking is paid from the answer: where the answer has a cap, thinking stays below it.",
      ),
      table(["provider", "`temperature`", "`effort`", "`outputSchema` goes to the provider"], OPTION_ROWS),
      wrap(
        "`required`, or one named tool, as `toolChoice` holds until the run has made its first call; then the model is free. Anthropic's models do not think in a turn whose call is forced. An agent that has the model of its parent has its temperature, effort and provider options too, where it says nothing itself.",
      ),
      wrap(
        "The instructions ask for the shape of the output in every case, and the answer is checked. An answer of another shape is repaired in one more turn, which `turns` counts. A provider that refuses the schema is asked again without it: an event `retry` of the kind `output_schema`. A refusal ends as `refused`; an answer that is cut at the output limit continues in the next turn.",
      ),
      "## Prices",
      wrap(
        `US dollars per million tokens, and the context window in tokens, from public price lists as of ${PRICES_AS_OF}. The table is part of the package: prices may have changed since. A version behind the name (\`-20250929\`, \`@20251101\`) has the price of the name. \`openai-chat\` has the prices of \`openai\`. Some providers charge more for long prompts: the table has the plain price.`,
      ),
      wrap(
        "A model that is not here has no known price: its cost is shown as `?` and is null in JSON, and where money is limited (`--budget`, `max_total_cost`, `costUsd`) it is refused before it is asked. That holds for local models, too. Set a price in [`prices`](config.md#prices), 0 for one that costs nothing.",
      ),
      ...Object.entries(PRICES).flatMap(([provider, models]) => [`### Prices of ${provider}`, priceTable(models)]),
    ],
  );
}

function rowOf(name: ProviderName, { keys, addresses, defaultAddress, isKeyOptional }: ProviderFacts): string[] {
  const variables = (names: readonly string[]): string => names.map((each) => `\`${each}\``).join(", ");
  return [
    `\`${name}\``,
    ABOUT[name],
    `${variables(keys)}${isKeyOptional ? " (optional)" : ""}`,
    `${variables(addresses)}${defaultAddress === undefined ? " (needed)" : ""}`,
    defaultAddress === undefined ? "none" : `\`${defaultAddress}\``,
  ];
}

/** Models with the same prices share a row; a column without a price is left out. */
function priceTable(models: Readonly<Record<string, PriceRow>>): string {
  const byPrices = Map.groupBy(Object.entries(models), ([, row]) => row.join());
  const rows = [...byPrices.values()].map((same): string[] => {
    const [, [input, output, cachedInput, cacheWrite, contextWindow]] = same[0] ?? raise("A group is not empty");
    const prices = [input, output, cachedInput, cacheWrite].map((price) => (price === null ? "" : String(price)));
    return [same.map(([name]) => `\`${name}\``).join(", "), ...prices, contextWindow.toLocaleString("en")];
  });
  return table(["model", "input", "output", "cached input", "cache write", "context window"], rows);
}

function raise(message: string): never {
  throw new Error(message);
}
