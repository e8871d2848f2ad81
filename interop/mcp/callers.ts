/** Programs of others that call agents through `sous mcp serve`: the entry each of them has for it, and how it takes one prompt. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { codexSettings, opencodeSettings, PLATFORM } from "../external/agents.ts";
import { peerFile } from "../external/peers.ts";

/** As the documentation says it: `docs/how-to/use-agents-from-other-programs.md`. */
const SERVE = ["mcp", "serve", "--agents", "lead,scout"];
const ENTRY = { command: "sous", args: SERVE };
/** The server is called `sous`, and the caller's model uses its tool `lead`. */
const TOOL = "mcp__sous__lead";

export type Caller = {
  /** The program and its arguments; a prompt comes behind them. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it reads its servers from, below the workspace or its home. */
  readonly files: Readonly<Record<string, string>>;
};

type CallerName = "claude" | "gemini" | "opencode" | "codex";
type Setting = { readonly url: string; readonly codexUrl: string; readonly home: string };

export const CALLERS: Record<CallerName, (setting: Setting) => Caller> = {
  claude: ({ url }) => ({
    argv: [peerFile(`@anthropic-ai/claude-agent-sdk-${PLATFORM}/claude`), "--allowedTools", TOOL, "-p"],
    env: { ANTHROPIC_API_KEY: "x", ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    // Otherwise its model does not have the tools from the beginning: it waits for the server, and then searches.
    files: {
      "work/.mcp.json": JSON.stringify({ mcpServers: { sous: { type: "stdio", ...ENTRY, alwaysLoad: true } } }),
    },
  }),
  gemini: ({ url }) => ({
    argv: [process.execPath, peerFile("@google/gemini-cli/bundle/gemini.js"), "-m", "gemini-2.5-flash", "-p"],
    env: { GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" },
    files: {
      "home/.gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        mcpServers: { sous: { ...ENTRY, trust: true } },
      }),
    },
  }),
  opencode: ({ url, home }) => ({
    argv: [peerFile(`opencode-${PLATFORM}/bin/opencode`), "run"],
    env: {
      OPENCODE_CONFIG: join(home, "opencode.json"),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
    },
    files: {
      "home/opencode.json": JSON.stringify({
        ...opencodeSettings(url),
        mcp: { sous: { type: "local", command: [ENTRY.command, ...SERVE], enabled: true } },
      }),
    },
  }),
  // The package is codex itself with another way in, so a client of that way hands the prompt over.
  codex: ({ codexUrl }) => ({
    argv: [
      ...[process.execPath, peerFile("acpx/dist/cli.js"), "--approve-all", "--agent"],
      ...[peerFile(`@zed-industries/codex-acp-${PLATFORM}/bin/codex-acp`), "exec"],
    ],
    env: { OPENAI_API_KEY: "x" },
    files: { "home/.codex/config.toml": `${codexSettings(codexUrl)}\n${codexEntry()}` },
  }),
};

function codexEntry(): string {
  return `[mcp_servers.sous]\ncommand = "${ENTRY.command}"\nargs = ${JSON.stringify(SERVE)}\n`;
}

/** Writes its files below the folder, which has the workspace and its home. */
export function configure({ files }: Caller, folder: string): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}
