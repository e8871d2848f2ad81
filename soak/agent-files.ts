/** C2: how long the installed command takes to check and to list 200 agent files. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "../packages/sous/test/figures/median.ts";
import { packedSous } from "../packages/sous/test/support/packed-sous.ts";
import type { Figure } from "./main.ts";

const FILES = 200;
const ROUNDS = 5;
const MAX_MS = 1000;

export const MANY_AGENT_FILES: Figure = {
  name: `C2 ${FILES} agent files: check and list in under 1 s`,
  async measure() {
    const { project } = await packedSous();
    const home = mkdtempSync(join(tmpdir(), "sous-agent-files-"));
    try {
      writeAgents(join(home, ".config/sous/agents/from-claude"));
      const checkMs: number[] = [];
      const listMs: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        checkMs.push(await timeOf(["agents", "check"], project, home));
        listMs.push(await timeOf(["agents", "list"], project, home));
      }
      const figure = { files: FILES, checkMs: median(checkMs), listMs: median(listMs) };
      return { figure, isReached: Math.max(figure.checkMs, figure.listMs) < MAX_MS };
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};

/** As people write them: a description that is not YAML, and a tool that sous does not have. */
function writeAgents(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < FILES; index++) {
    const description = `Use this agent for topic ${index}: questions, examples. Context: it knows topic ${index} well.`;
    const keys = `name: agent-${index}\ndescription: ${description}\ntools: Read, Grep, WebSearch`;
    writeFileSync(join(folder, `agent-${index}.md`), `---\n${keys}\n---\nYou know topic ${index}.\n`);
  }
}

async function timeOf(parameters: readonly string[], project: string, home: string): Promise<number> {
  const { PATH = "" } = process.env;
  const startedAt = performance.now();
  const command = join(project, "node_modules/.bin/sous");
  const { stdout } = await promisify(execFile)(process.execPath, [command, ...parameters], {
    cwd: home,
    env: { PATH, HOME: home },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!stdout.includes(`agent-${FILES - 1}`)) throw new Error(`sous ${parameters.join(" ")} does not name every agent`);
  return Math.round(performance.now() - startedAt);
}
