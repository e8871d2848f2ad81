/** The page of errors: for each code what it means, the mistake as people see it, and what to do. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorPicture } from "../../packages/sous/src/app/cli/report-error.ts";
import { chooseStyle } from "../../packages/sous/src/app/cli/terminal/style.ts";
import { loadConfiguration } from "../../packages/sous/src/app/config/load-configuration.ts";
import {
  AGENT_FILE_CODES,
  type AgentFileCode,
  CONFIGURATION_CODES,
  type ConfigurationCode,
  ConfigurationError,
} from "../../packages/sous/src/app/config/problem.ts";
import { AGENT_FILES_EXPLAINED, agentPictureOf } from "./agent-errors.ts";
import { capitalized, page, wrap } from "./markdown.ts";

export type Explained = {
  /** A file that has the mistake; undefined for one that is not there. */
  readonly example: string | undefined;
  readonly causes: readonly string[];
  readonly remedy: string;
};

type Entry = {
  readonly code: string;
  readonly about: string;
  readonly explained: Explained;
  picture(): Promise<string[]>;
};

export async function errorsPage(): Promise<string> {
  const configuration = (Object.keys(CONFIGURATION_CODES) as ConfigurationCode[]).map(
    (code): Entry => ({
      code,
      about: CONFIGURATION_CODES[code],
      explained: EXPLAINED[code],
      picture: () => pictureOf(code),
    }),
  );
  const agentFiles = (Object.keys(AGENT_FILE_CODES) as AgentFileCode[]).map(
    (code): Entry => ({
      code,
      about: AGENT_FILE_CODES[code],
      explained: AGENT_FILES_EXPLAINED[code],
      picture: () => agentPictureOf(code),
    }),
  );
  const intro =
    "Mistakes in the configuration and in agent files have a code that never changes. Messages without a code are in [troubleshooting](../how-to/troubleshooting.md).";
  return page("Reference: errors", intro, [
    "## The configuration",
    wrap(
      "All mistakes are told at once, and nothing is started. The command ends with 3, or with 2 when the mistake is in a flag of the command line.",
    ),
    ...(await Promise.all(configuration.map(section))),
    "## Agent files",
    wrap(
      "`sous agents check` tells all of them, and ends with 3 when an agent is not loaded. Other commands warn, and continue without that agent.",
    ),
    ...(await Promise.all(agentFiles.map(section))),
  ]);
}

async function section({ code, about, explained, picture }: Entry): Promise<string> {
  return [
    `### ${code}`,
    `${capitalized(about)}.`,
    `\`\`\`text\n${(await picture()).join("\n")}\n\`\`\``,
    explained.causes.map((cause) => `- ${cause}`).join("\n"),
    wrap(explained.remedy),
  ].join("\n\n");
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
