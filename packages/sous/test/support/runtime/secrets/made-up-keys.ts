/** Keys that no issuer ever made, put together here so that no scanner of this repository takes them for real ones. */

import { seededRandom } from "../../../../src/testing/world.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Random letters and digits, the same every time for the same purpose. */
export function randomText(purpose: string, length: number, alphabet: string = LETTERS): string {
  const random = seededRandom(1, purpose);
  let text = "";
  for (let count = 0; count < length; count++) text += alphabet[Math.floor(random() * alphabet.length)];
  return text;
}

const DIGITS = "0123456789";
const HEX = "0123456789abcdef";
const CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** One of each shape that is known, by what the mark should say. */
export const MADE_UP_KEYS: readonly (readonly [name: string, key: string])[] = [
  ["Anthropic key", `sk-ant-api03-${randomText("anthropic", 93)}AA`],
  ["Anthropic key", `sk-ant-admin01-${randomText("anthropic admin", 93, `${LETTERS}-_`)}AA`],
  ["OpenAI key", `sk-${randomText("openai", 20)}T3BlbkFJ${randomText("openai 2", 20)}`],
  ["OpenAI key", `sk-proj-${randomText("project", 74, `${LETTERS}-_`)}T3BlbkFJ${randomText("project 2", 74)}`],
  ["OpenAI key", `sk-or-v1-${randomText("openrouter", 64, HEX)}`],
  ["Google key", `AIza${randomText("google", 35)}`],
  ["Google key", `AQ.Ab8${randomText("gemini", 47, `${LETTERS}-_`)}`],
  ["Google token", `ya29.a0${randomText("oauth", 120, `${LETTERS}-_`)}`],
  ["Google client secret", `GOCSPX-${randomText("client", 28)}`],
  ["GitHub token", `ghp_${randomText("personal", 36)}`],
  ["GitHub token", `gho_${randomText("oauth app", 36)}`],
  ["GitHub token", `ghs_${randomText("server", 36)}`],
  ["GitHub token", `ghs_123456_eyJ${randomText("stateless", 90)}.eyJ${randomText("b", 300)}.${randomText("c", 86)}`],
  ["GitHub token", `github_pat_${randomText("fine", 22)}_${randomText("grained", 59)}`],
  ["GitLab token", `glpat-${randomText("gitlab", 20)}`],
  ["Slack token", `xoxb-${randomText("t", 12, DIGITS)}-${randomText("u", 13, DIGITS)}-${randomText("slack", 24)}`],
  ["AWS key", `AKIA${randomText("aws", 16, CAPITALS)}`],
  ["AWS key", `ASIA${randomText("sts", 16, CAPITALS)}`],
  ["npm token", `npm_${randomText("npm", 36)}`],
  ["Hugging Face token", `hf_${randomText("face", 34, LETTERS.slice(0, 52))}`],
  ["Stripe key", `sk_live_${randomText("stripe", 24)}`],
  ["Stripe key", `rk_live_${randomText("restricted", 24)}`],
  ["xAI key", `xai-${randomText("xai", 80)}`],
  ["Groq key", `gsk_${randomText("groq", 52)}`],
  ["Perplexity key", `pplx-${randomText("pplx", 48)}`],
  ["NVIDIA key", `nvapi-${randomText("nvidia", 64, `${LETTERS}-_`)}`],
  ["Replicate token", `r8_${randomText("replicate", 37)}`],
  ["DigitalOcean token", `dop_v1_${randomText("ocean", 64, HEX)}`],
  ["PyPI token", `pypi-AgEIcHlwaS5vcmc${randomText("pypi", 120)}`],
  ["SendGrid key", `SG.${randomText("send", 22)}.${randomText("grid", 43)}`],
  ["age key", `AGE-SECRET-KEY-1${randomText("age", 58, CAPITALS)}`],
  ["JWT", `eyJhbGciOiJIUzI1NiJ9.eyJ${randomText("claims", 60)}.${randomText("signature", 43)}`],
];

/** A private key of the given kind: ten lines of nothing. */
export function madeUpPrivateKey(kind = "RSA "): string {
  const lines = Array.from({ length: 10 }, (_, line) => randomText(`line ${line}`, 64, `${LETTERS}+/`));
  return [`-----BEGIN ${kind}PRIVATE KEY-----`, ...lines, "Zm9v", `-----END ${kind}PRIVATE KEY-----`].join("\n");
}
