/** A user with a configuration and agent files, and `sous` as a process of that user. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ProcessJudge } from "../../packages/sous/test/figures/process-judge.ts";
import { LEAD } from "../external/mock.ts";

const MAIN: string = join(import.meta.dirname, "../../packages/sous/src/app/cli/main.ts");
/** `sous` from the sources, as the words of a command. */
export const SOUS: readonly string[] = [process.execPath, "--conditions=sous-source", MAIN];
const LONGEST_MS = 90_000;

/** One line of `--output-format stream-json`: an event, the first line or the result. */
export type Line = {
  type: string;
  path?: string;
  tool_name?: string;
  output?: string;
  is_error?: boolean;
  data?: unknown;
  files?: { media_type?: string; mediaType?: string }[];
  status?: string;
  text?: string;
  done?: number;
  total?: number;
};

export type Ended = { code: number | null; lines: Line[]; stderr: string };

export type Home = Disposable & {
  readonly folder: string;
  /** The workspace of the runs. */
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Knows every process that was started from here. */
  readonly judge: ProcessJudge;
  /** Writes the user's configuration. */
  configure(settings: Record<string, unknown>): void;
  /** Writes an agent file of the user. */
  agent(name: string, settings: Record<string, unknown>): void;
};

export function makeHome(mockUrl: string): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-interop-mcp-")));
  const [cwd, settings] = [join(folder, "work"), join(folder, "config/sous")];
  for (const each of [cwd, join(settings, "agents")]) mkdirSync(each, { recursive: true });
  const judge = new ProcessJudge(cwd);
  const { PATH = "" } = process.env;
  return {
    folder,
    cwd,
    judge,
    env: {
      PATH,
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "config"),
      XDG_STATE_HOME: join(folder, "state"),
      XDG_DATA_HOME: join(folder, "data"),
      OPENAI_COMPATIBLE_BASE_URL: `${mockUrl}/v1`,
      SOUS_MODEL: `openai-compatible/${LEAD}`,
      ...judge.environment,
    },
    // JSON is YAML.
    configure: (values) => writeFileSync(join(settings, "config.yaml"), JSON.stringify(values), { mode: 0o600 }),
    agent(name, values) {
      const lines = Object.entries({ name, ...values }).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
      const text = ["---", ...lines, "---", "Do what you are asked.", ""].join("\n");
      writeFileSync(join(settings, `agents/${name}.md`), text);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** `sous run`; `onLine` hears what it prints, line by line. */
export async function runSous(
  home: Home,
  parameters: readonly string[],
  onLine: (line: Line, child: ChildProcess) => void = () => {},
  env: Record<string, string> = {},
): Promise<Ended> {
  const [program = "", ...words] = SOUS;
  const child = spawn(program, [...words, "run", ...parameters, "--output-format", "stream-json"], {
    cwd: home.cwd,
    env: { ...home.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // The judge counts the whole group.
    detached: true,
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  const ended: Ended = { code: null, lines: [], stderr: "" };
  child.stderr.on("data", (chunk) => (ended.stderr += chunk));
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as Line;
    ended.lines.push(line);
    onLine(line, child);
  });
  ended.code = await new Promise((resolve) => child.on("close", resolve));
  return ended;
}

/** The result of a tool's only call. */
export function resultOf({ lines }: Ended, toolName: string): Line | undefined {
  return lines.find(({ type, tool_name }) => type === "tool-call-end" && tool_name === toolName);
}
