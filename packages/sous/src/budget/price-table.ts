/**
 * What models cost and how much they hold. Facts from the public lists models.dev (2026-07-02) and litellm (2026-08-08),
 * reduced to what the ledger uses; where they differ, the higher price and the smaller window. Some providers charge more
 * for prompts over 200,000 tokens: the table has the plain tariff.
 */

export const PRICES_AS_OF = "2026-08-08";

/** US dollars per million tokens, then tokens; null where the provider has no such tariff. */
export type PriceRow = readonly [
  input: number,
  output: number,
  cachedInput: number | null,
  cacheWrite: number | null,
  contextWindow: number,
];

/** By provider, then by the name of the model without its date. A dated name has a row only where its price differs. */
export const PRICES: Readonly<Record<string, Readonly<Record<string, PriceRow>>>> = {
  anthropic: {
    "claude-fable-5": [10, 50, 1, 12.5, 1_000_000],
    "claude-opus-5": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-8": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-7": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-6": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-5": [5, 25, 0.5, 6.25, 200_000],
    "claude-opus-4-1": [15, 75, 1.5, 18.75, 200_000],
    "claude-opus-4-0": [15, 75, 1.5, 18.75, 200_000],
    "claude-opus-4": [15, 75, 1.5, 18.75, 200_000],
    "claude-sonnet-5": [2, 10, 0.2, 2.5, 1_000_000],
    "claude-sonnet-4-6": [3, 15, 0.3, 3.75, 1_000_000],
    "claude-sonnet-4-5": [3, 15, 0.3, 3.75, 200_000],
    "claude-sonnet-4-0": [3, 15, 0.3, 3.75, 200_000],
    "claude-sonnet-4": [3, 15, 0.3, 3.75, 200_000],
    "claude-haiku-4-5": [1, 5, 0.1, 1.25, 200_000],
  },
  openai: {
    "gpt-5.6": [5, 30, 0.5, 6.25, 1_050_000],
    "gpt-5.6-sol": [5, 30, 0.5, 6.25, 1_050_000],
    "gpt-5.6-terra": [2, 12, 0.2, 2.5, 1_050_000],
    "gpt-5.6-luna": [0.2, 1.2, 0.02, 0.25, 1_050_000],
    "gpt-5.5": [5, 30, 0.5, null, 1_050_000],
    "gpt-5.5-pro": [30, 180, null, null, 1_050_000],
    "gpt-5.4": [2.5, 15, 0.25, null, 1_050_000],
    "gpt-5.4-pro": [30, 180, null, null, 1_050_000],
    "gpt-5.4-mini": [0.75, 4.5, 0.075, null, 400_000],
    "gpt-5.4-nano": [0.2, 1.25, 0.02, null, 400_000],
    "gpt-5.3-codex": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2-codex": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2-pro": [21, 168, null, null, 400_000],
    "gpt-5.1": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex-max": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex-mini": [0.25, 2, 0.025, null, 400_000],
    "gpt-5": [1.25, 10, 0.125, null, 400_000],
    "gpt-5-codex": [1.25, 10, 0.125, null, 400_000],
    "gpt-5-mini": [0.25, 2, 0.025, null, 400_000],
    "gpt-5-nano": [0.05, 0.4, 0.005, null, 400_000],
    "gpt-5-pro": [15, 120, null, null, 400_000],
    "gpt-4.1": [2, 8, 0.5, null, 1_047_576],
    "gpt-4.1-mini": [0.4, 1.6, 0.1, null, 1_047_576],
    "gpt-4.1-nano": [0.1, 0.4, 0.025, null, 1_047_576],
    "gpt-4o": [2.5, 10, 1.25, null, 128_000],
    "gpt-4o-2024-05-13": [5, 15, null, null, 128_000],
    "gpt-4o-mini": [0.15, 0.6, 0.075, null, 128_000],
    "o4-mini": [1.1, 4.4, 0.275, null, 200_000],
    o3: [2, 8, 0.5, null, 200_000],
    "o3-pro": [20, 80, null, null, 200_000],
    "o3-mini": [1.1, 4.4, 0.55, null, 200_000],
    o1: [15, 60, 7.5, null, 200_000],
    "o1-pro": [150, 600, null, null, 200_000],
  },
  google: {
    "gemini-3.6-flash": [1.5, 7.5, 0.15, null, 1_048_576],
    "gemini-3.5-flash": [1.5, 9, 0.15, null, 1_048_576],
    "gemini-3.5-flash-lite": [0.3, 2.5, 0.03, null, 1_048_576],
    "gemini-3.1-pro-preview": [2, 12, 0.2, null, 1_048_576],
    "gemini-3.1-flash-lite": [0.25, 1.5, 0.025, null, 1_048_576],
    "gemini-3.1-flash-lite-preview": [0.25, 1.5, 0.025, null, 1_048_576],
    "gemini-3-pro-preview": [2, 12, 0.2, null, 1_048_576],
    "gemini-3-flash-preview": [0.5, 3, 0.05, null, 1_048_576],
    "gemini-2.5-pro": [1.25, 10, 0.125, null, 1_048_576],
    "gemini-2.5-flash": [0.3, 2.5, 0.03, null, 1_048_576],
    "gemini-2.5-flash-lite": [0.1, 0.4, 0.01, null, 1_048_576],
    "gemini-2.0-flash": [0.1, 0.4, 0.025, null, 1_048_576],
    "gemini-2.0-flash-lite": [0.075, 0.3, null, null, 1_048_576],
  },
};
