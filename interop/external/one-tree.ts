/** All agents at once, in one tree with a native child, on the command line: `sous run` with `agent_servers` and rules. */

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Look } from "./look.ts";
import {
  commandFor,
  EDITED,
  EXTERNAL_NAMES,
  type ExternalName,
  LEAD,
  type Mock,
  type ToolCall,
  WORDS,
} from "./mock.ts";
import type { Place } from "./place.ts";
import { NATIVE } from "./stage.ts";

type Looked = { mock: Mock; place: Place; look: Look };
type Report = {
  status: string;
  result: string;
  agents: { path: string; status: string; usage: { total_tokens: number } }[];
  usage: { total_tokens: number };
};

const MAIN = join(import.meta.dirname, "../../packages/sous/src/app/cli/main.ts");
/** As an editor writes it. */
const CLAUDE = "Claude Code";
/** Our own name of it in an agent file. */
const CODER = "coder";
/** Four programs start at once. */
const LONGEST_MS = 300_000;

export async function lookAtTree(looked: Looked): Promise<void> {
  await looked.look.during("tree", () => allInOneTree(looked));
  const remains = await looked.place.remains();
  looked.look.at("tree: no process is left", remains.length === 0, remains);
}

async function allInOneTree({ mock, place, look }: Looked): Promise<void> {
  configure(place);
  const fileOf = (name: ExternalName) => join(place.cwd, `tree-${name}.txt`);
  mock.script("four agents", [
    () => [...EXTERNAL_NAMES.map((name) => callFor(name, fileOf(name))), NATIVE],
    "All done.",
  ]);
  const rules = [
    ...["claude-code", "opencode", "codex", "gemini"].map((name) => `subagent_delegate(${name})`),
    "write_file(tree-*.txt)",
    `terminal(=${commandFor(fileOf("codex"))})`,
  ];
  const { code, stdout, stderr } = await sous(
    ["run", "four agents", "--json", ...rules.flatMap((rule) => ["--allow", rule])],
    { mock, place },
  );
  const report = JSON.parse(stdout) as Report;
  const statuses = report.agents.map(({ path, status }) => `${path} ${status}`);
  look.at("tree: sous run ended well", code === 0 && report.status === "completed", [code, stderr, report]);
  look.at(
    `tree: one root, four external agents and a native child completed`,
    statuses.length === 6 && statuses.every((status) => status.endsWith(" completed")),
    [statuses, stderr],
  );
  for (const name of EXTERNAL_NAMES)
    look.at(`tree: ${name} edited its file, allowed by a rule`, isEdited(fileOf(name)), statuses);
  const sum = report.agents.reduce((total, { usage }) => total + usage.total_tokens, 0);
  look.at(`tree: the sums agree (${sum} tokens)`, sum === report.usage.total_tokens, report);
}

/** Claude is called by the name of an agent file, the others by the names of their servers. */
function callFor(name: ExternalName, file: string): ToolCall {
  const task = `${WORDS.edit} ${file}`;
  return name === "claude"
    ? { name: "subagent", input: { agent: CODER, label: CODER, task_prompt: task } }
    : { name: "subagent_delegate", input: { task, description: name, serverName: name } };
}

function configure(place: Place): void {
  const folder = join(place.folder, "home/.config/sous");
  mkdirSync(join(folder, "agents"), { recursive: true });
  const servers = Object.fromEntries(
    EXTERNAL_NAMES.map((name) => [name === "claude" ? CLAUDE : name, { ...place.entry(name), timeout: "4m" }]),
  );
  // JSON is YAML.
  writeFileSync(join(folder, "config.yaml"), JSON.stringify({ agent_servers: servers }));
  const head = `name: ${CODER}\ndescription: Changes code.\nmodel: external/claude-code`;
  writeFileSync(join(folder, "agents", `${CODER}.md`), `---\n${head}\n---\nYou change code.\n`);
}

/** One command of sous, as a process. */
async function sous(parameters: readonly string[], { mock, place }: Pick<Looked, "mock" | "place">) {
  const { PATH = "" } = process.env;
  const env = {
    PATH,
    HOME: join(place.folder, "home"),
    OPENAI_COMPATIBLE_BASE_URL: `${mock.url}/v1`,
    SOUS_MODEL: `openai-compatible/${LEAD}`,
  };
  const child = spawn(process.execPath, ["--conditions=sous-source", MAIN, ...parameters], {
    cwd: place.cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

function isEdited(file: string): boolean {
  try {
    return readFileSync(file, "utf8") === EDITED;
  } catch {
    return false;
  }
}
