/** Starts each agent on the fake provider, so that it asks before it edits. */

import { chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExternalName } from "./mock.ts";
import { peerFile } from "./peers.ts";

/** An entry of `agent_servers`. */
export type Entry = { command: string; args: string[]; env: Record<string, string> };

/** Claude Code does not work for root. */
const OTHER_USER = 65_534;
const isRoot = process.getuid?.() === 0;

type Way = {
  /** The program and its arguments. */
  argv: string[];
  env: Record<string, string>;
  /** Files of its own configuration, below its home. */
  files?: Record<string, string>;
};

const WAYS: Record<ExternalName, (url: string, home: string) => Way> = {
  claude: (url) => ({
    argv: [process.execPath, peerFile("@agentclientprotocol/claude-agent-acp/dist/index.js")],
    env: { ANTHROPIC_API_KEY: "x", ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  }),
  opencode: (url, home) => ({
    argv: [peerFile(`opencode-${PLATFORM}/bin/opencode`), "acp"],
    env: {
      OPENCODE_CONFIG: join(home, "opencode.json"),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
    },
    files: { "opencode.json": JSON.stringify(opencodeSettings(url)) },
  }),
  codex: (url) => ({
    argv: [peerFile(`@zed-industries/codex-acp-${PLATFORM}/bin/codex-acp`)],
    env: { OPENAI_API_KEY: "x" },
    files: { ".codex/config.toml": codexSettings(url) },
  }),
  // Without a model it first asks another one which to take, and that one must answer in JSON.
  gemini: (url) => ({
    argv: [process.execPath, peerFile("@google/gemini-cli/bundle/gemini.js"), "--acp", "-m", "gemini-2.5-flash"],
    env: { GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url },
  }),
};

export const PLATFORM = `${process.platform}-${process.arch}`;

/** Makes a home for the agent below `folder`. `mark` is a variable that its processes can be found by. */
export function entryOf(name: ExternalName, url: string, folder: string, mark: string): Entry {
  const home = join(folder, `home-${name}`);
  const { argv, env, files = {} } = WAYS[name](url, home);
  mkdirSync(join(home, ".codex"), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(home, file), text);
  // Programs get the HOME of sous whatever their entry says, so it is set behind that.
  const atHome = ["env", `HOME=${home}`, ...argv];
  const [command = "", ...args] = name === "claude" ? [...asOtherUser(home), ...atHome] : atHome;
  return { command, args, env: { ...env, [MARK]: mark } };
}

/** The variable behind `mark`. */
export const MARK = "INTEROP_MARK";

/** Agents that do not run as root write into folders of this user; so do they into what is in the folder. */
export function giveAway(folder: string): void {
  if (!isRoot) return;
  const inside = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const path of ["", ...inside]) chownSync(join(folder, path), OTHER_USER, OTHER_USER);
}

/** The words before a command that make it run as another user; none for a user who is not root. Gives the folder to that user. */
export function asOtherUser(folder: string): string[] {
  if (!isRoot) return [];
  giveAway(folder);
  return ["setpriv", `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, "--clear-groups", "--"];
}

export function opencodeSettings(url: string) {
  const model = { tool_call: true, limit: { context: 100_000, output: 4096 } };
  const options = { baseURL: `${url}/v1`, apiKey: "x" };
  return {
    model: "mock/m",
    small_model: "mock/m",
    // Without this it asks nothing.
    permission: { bash: "ask", edit: "ask" },
    provider: { mock: { npm: "@ai-sdk/openai-compatible", options, models: { m: model } } },
  };
}

/** Its own sandbox needs `bwrap`; with this policy it asks for every command instead. */
export function codexSettings(url: string): string {
  return `model = "gpt-5.5"
model_provider = "mock"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"

[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`;
}
