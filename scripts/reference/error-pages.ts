/** One page for each code of a mistake: what it means, the mistake as people see it, and what to do. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorPicture } from "../../packages/sous/src/cli/error-picture.ts";
import { chooseStyle } from "../../packages/sous/src/cli/style.ts";
import { loadConfiguration } from "../../packages/sous/src/config/load-configuration.ts";
import {
  CONFIGURATION_CODES,
  type ConfigurationCode,
  ConfigurationError,
} from "../../packages/sous/src/core/problem.ts";
import { capitalized, page, table, wrap } from "./markdown.ts";

type Explained = {
  /** A configuration that has the mistake; undefined for one that is not there. */
  readonly example: string | undefined;
  readonly causes: readonly string[];
  readonly remedy: string;
};

/** The pages by file name, in a folder of their own. */
export async function errorPages(): Promise<[name: string, text: string][]> {
  const codes = Object.keys(CONFIGURATION_CODES) as ConfigurationCode[];
  const pages = await Promise.all(
    codes.map(async (code) => [`errors/${code}.md`, await errorPage(code)] as [string, string]),
  );
  const index = table(
    ["code", "meaning"],
    codes.map((code) => [`[${code}](${code}.md)`, capitalized(CONFIGURATION_CODES[code])]),
  );
  const intro =
    "Mistakes in the configuration have a code that never changes. All of them are told at once, nothing is started, and the command ends with 3.";
  const others = wrap("Every other sentence that sous says is in [troubleshooting](../../how-to/troubleshooting.md).");
  return [["errors/README.md", page("Reference: errors", intro, [index, others])], ...pages];
}

async function errorPage(code: ConfigurationCode): Promise<string> {
  const { causes, remedy } = EXPLAINED[code];
  return page(code, `${capitalized(CONFIGURATION_CODES[code])}.`, [
    "## What it looks like",
    `\`\`\`text\n${(await pictureOf(code)).join("\n")}\n\`\`\``,
    "## Why",
    causes.map((cause) => `- ${cause}`).join("\n"),
    "## What to do",
    wrap(remedy),
    "[All errors](README.md)",
  ]);
}

/** Made by making the mistake. */
async function pictureOf(code: ConfigurationCode): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "sous-errors-"));
  try {
    const { example } = EXPLAINED[code];
    const file = "config.yaml";
    if (example !== undefined) writeFileSync(join(folder, file), example);
    await loadConfiguration({ userFile: undefined, configFlagFile: file, env: {}, cwd: folder });
  } catch (error) {
    const [problem] = error instanceof ConfigurationError ? error.problems : [];
    if (problem?.code !== code) throw error;
    return errorPicture(problem, chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  throw new Error(`The example of ${code} has no mistake`);
}

const EXPLAINED: Record<ConfigurationCode, Explained> = {
  "SOUS-C001": {
    example: undefined,
    causes: [
      "`--config` or `SOUS_CONFIG` names a file that is not there.",
      "The file is there, but you may not read it, or it is a folder, a pipe or a device.",
    ],
    remedy:
      "Correct the name, or give yourself the right to read it: `chmod u+r FILE`. Without `--config` and `SOUS_CONFIG`, a missing file is no mistake: every setting then has its default.",
  },
  "SOUS-C002": {
    example: "agent:\n  max_turns: 20\n max_depth: 3\n",
    causes: [
      "The indentation does not line up, a tab is used for it, or a bracket or a quote is not closed.",
      "A key stands twice in the same place.",
      "The file uses tags of a language, too many aliases, or is too large or too deep.",
    ],
    remedy:
      "Look at the line with the mark, and at the one above it. `sous config schema` prints a JSON Schema with which an editor finds such mistakes while you type.",
  },
  "SOUS-C003": {
    example: "agent:\n  subagent: { max_depth: 0 }\n",
    causes: ["A number is too small or too large.", "A word is not one of those that the setting knows."],
    remedy:
      "The message says what is allowed. `sous config explain KEY` says what the setting is for, and what it is without the line.",
  },
  "SOUS-C004": {
    example: "agent:\n  max_turns: many\n",
    causes: [
      "A text stands where a number belongs, or the other way round.",
      "A setting that has others below it was given a value of its own.",
    ],
    remedy: "Write the value as the message says. Times are numbers of seconds, or texts such as `90s`, `5m`, `2h`.",
  },
  "SOUS-C005": {
    example: "agent:\n  subagent: { max_dept: 5 }\n",
    causes: [
      "A name is misspelt: the nearest one that exists is suggested.",
      "The key is in the wrong place: `max_depth` belongs below `agent.subagent`.",
    ],
    remedy:
      "`sous config explain --all` lists every setting. Unknown keys are mistakes, so that a typo is not silently without effect.",
  },
};
