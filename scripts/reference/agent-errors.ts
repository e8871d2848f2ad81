/** The words of the page about each code of a mistake in an agent file, with a file that has the mistake. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { problemLines } from "../../packages/sous/src/app/cli/commands/agent-lines.ts";
import { chooseStyle } from "../../packages/sous/src/app/cli/terminal/style.ts";
import { loadAgentFiles } from "../../packages/sous/src/app/config/agents/load.ts";
import { checkCallSize } from "../../packages/sous/src/app/config/agents/rights.ts";
import type { AgentFileCode } from "../../packages/sous/src/app/config/problem.ts";
import type { Explained } from "./errors-page.ts";

/** Made by making the mistake. */
export async function agentPictureOf(code: AgentFileCode): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "sous-errors-"));
  try {
    const { example = "" } = AGENT_FILES_EXPLAINED[code];
    const agents = join(folder, FOLDERS[code] ?? ".sous/agents");
    for (const name of code === "SOUS-A008" ? ["a-scout.md", "scout.md"] : ["scout.md"]) {
      mkdirSync(dirname(join(agents, name)), { recursive: true });
      writeFileSync(join(agents, name), example);
    }
    const { problems, agents: loaded } = await loadAgentFiles({ userFolders: [agents], projectFiles: [] });
    const sizes = loaded.map((agent) => checkCallSize(agent, 20_000)).filter((problem) => problem !== undefined);
    const found = [...problems, ...sizes].find((problem) => problem.code === code);
    if (found === undefined) throw new Error(`The example of ${code} has no such mistake`);
    const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });
    return problemLines([found], { style }).map((line) => line.replaceAll(`${folder}/`, ""));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Where a mistake is one only in the dialect of another program. */
const FOLDERS: Partial<Record<AgentFileCode, string>> = { "SOUS-A007": ".claude/agents" };

const file = (...settings: string[]): string =>
  ["---", "name: scout", "description: Finds code.", ...settings, "---", "Answer with file:line.", ""].join("\n");

export const AGENT_FILES_EXPLAINED: Record<AgentFileCode, Explained> = {
  "SOUS-A001": {
    example: "x".repeat(130 * 1024),
    causes: [
      "You may not read the file, or it is larger than 128 KB.",
      "It is a link that leads out of its folder, or no file at all.",
      "There are more than 500 agent files: the first 500 are read.",
      "A folder is reached through a link, or a folder of `agents.also_read` is not there.",
    ],
    remedy: "Put the file itself into the folder, and move away what is no agent.",
  },
  "SOUS-A002": {
    example:
      "---\nname: scout\ndescription: Finds code: names and uses\ntools: [read_file]\n---\nAnswer with file:line.\n",
    causes: [
      "A text is not YAML, most often because of a colon in the description: it is read as plain text, and this is a warning.",
      "A list, a map or a restriction is not YAML: the agent is not loaded.",
      "A line looks like a setting and stands inside a text that is not YAML: the agent is not loaded.",
      "A setting stands behind a character that ends a line for some editors and not for YAML: the agent is not loaded.",
      "The file does not begin with a line of three dashes, which is a warning, or the settings are not closed by one.",
    ],
    remedy:
      "Put the description in quotes, or write `description: |` and indent the lines below it. `sous agents new NAME` writes a file with the right beginning.",
  },
  "SOUS-A003": {
    example: file("max_turns: many"),
    causes: [
      "A value has the wrong type, or is too small or too large.",
      "A name is taken. One that models cannot call, such as `Code Reviewer`, becomes a word that they can, and this is a warning.",
    ],
    remedy:
      "The message says what is allowed. A limit that is not understood keeps the agent from being loaded; a text that is not understood is left out.",
  },
  "SOUS-A004": {
    example: file("allowed_tools: [read_file]"),
    causes: [
      "A key looks like a restriction and is misspelt, or belongs to another program.",
      "A hook or a mode of another program restricts the agent in a way that sous does not know.",
    ],
    remedy:
      "Write the restriction in a way that sous knows (`tools`, `deny`, `permissions`), or remove it. A restriction that is not understood must not become full access, so the agent is not loaded until then.",
  },
  "SOUS-A005": {
    example: file("colour: red"),
    causes: ["A key is misspelt.", "A key of another program means nothing here."],
    remedy: "Correct the name, remove the line, or leave it for the other program: the agent is loaded all the same.",
  },
  "SOUS-A006": {
    example: file("tools: [read_file, gerp]"),
    causes: [
      "The name of a tool is misspelt, or the tool is one of another program.",
      "A rule has a pattern that is not understood, or is about a tool whose calls have none.",
    ],
    remedy:
      "Use the names of the [tools](tools.md); in files of other programs theirs are understood too. A tool that is granted and not known is left out; one that is denied and not known keeps the agent from being loaded.",
  },
  "SOUS-A007": {
    example: file("isolation: worktree"),
    causes: [
      "Something that would hold the agent back in another program does not exist here, so the agent has fewer rights instead.",
      "A file of a project allows something: it can only add and narrow.",
      "Rules for single calls hold for one agent, so an agent that has them has no children.",
    ],
    remedy:
      "`sous agents show NAME` shows every right and the line it comes from. Do as the line `fix` says to have more.",
  },
  "SOUS-A008": {
    example: file(),
    causes: [
      "Another file has an agent of this name: yours win over those of a project, and ours over those of other programs.",
      "The file says that the agent is switched off, remote, or not called by others.",
    ],
    remedy: "Give one of the two another name, or remove the line that is named.",
  },
  "SOUS-A009": {
    example: "---\nname: scout\n---\nAnswer with file:line.\n",
    causes: ["There is no `description`, or no text below the settings."],
    remedy: "Write in one sentence when the agent should be called: models choose by it.",
  },
  "SOUS-A010": {
    example: file("max_output_tokens: 8000"),
    causes: [
      "A call reserves its largest answer: `max_output_tokens` of the agent, or 4,096 tokens.",
      "That is more than a quarter of what all children together may spend.",
    ],
    remedy:
      "Lower `max_output_tokens` of the agent, or raise `agent.subagent.max_total_tokens`. With neither it works, but fewer children ask at once and the others wait.",
  },
};
