/** The checks of `sous doctor` about the setup: settings, trust, agent files. Reads nothing of a project before it is trusted. */

import type { Configuration } from "../../config/configuration.ts";
import { ConfigurationError, whereIs } from "../../config/problem.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import { findTrust, loadAgents, readConfiguration } from "../application/project.ts";
import type { ProcessContext } from "../files/paths.ts";
import { flagSettings } from "../table/run-flags.ts";
import { plural } from "../terminal/text.ts";
import { type Check, ok, problem, warning } from "./machine.ts";

type SetupQuestion = ProcessContext & {
  readonly configFile: string | undefined;
  readonly model: string | undefined;
};

/** The configuration is undefined when it is broken. */
export async function checkSetup(question: SetupQuestion) {
  const trust = await findTrust(question);
  const settings = await checkConfiguration(question, trust);
  return {
    checks: [settings.check, checkTrust(trust), await checkAgents(question, trust, settings.configuration)],
    configuration: settings.configuration,
  };
}

async function checkConfiguration(
  { cwd, env, configFile, model }: SetupQuestion,
  trust: ProjectTrust,
): Promise<{ check: Check; configuration: Configuration | undefined }> {
  const name = "configuration";
  try {
    const { configuration, origins, warnings } = await readConfiguration({
      flags: { configFile, settings: flagSettings({ model }) },
      cwd,
      env,
      project: trust,
    });
    const [first] = warnings;
    const set = [...origins.values()].filter(({ origin }) => origin.layer !== "default").length;
    const found = `valid, ${set} of ${origins.size} settings are not the default`;
    const check =
      first === undefined
        ? ok(name, found)
        : warning(name, `${found}; ${first}`, "sous config check shows all that was ignored");
    return { check, configuration };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first] = error.problems;
    const count = plural(error.problems.length, "mistake");
    const found = first === undefined ? count : `${count}, first ${whereIs(first)}: ${first.message}`;
    return { check: problem(name, found, "sous config check shows them all"), configuration: undefined };
  }
}

function checkTrust({ root, state, present, problem: reason, changes }: ProjectTrust): Check {
  const name = "trust";
  const files = present.join(", ");
  if (reason !== undefined) return problem(name, reason, "sous trust --revoke, then sous trust");
  if (present.length === 0 && state !== "changed") return ok(name, `not needed: ${root} has no files for sous`);
  switch (state) {
    case "trusted":
      return ok(name, `${root} is trusted: ${files}`);
    case "unknown":
      return warning(name, `${root} is not trusted, so these are not read: ${files}`, "look at them, then sous trust");
    case "changed":
      return warning(
        name,
        `${root} has changed since it was trusted (${changes.join(", ")}), so nothing of it is read`,
        "look at what has changed, then sous trust",
      );
    default:
      return state satisfies never;
  }
}

async function checkAgents(
  question: SetupQuestion,
  trust: ProjectTrust,
  configuration: Configuration | undefined,
): Promise<Check> {
  const name = "agents";
  const { agents, problems } = await loadAgents(question, trust, configuration);
  const found =
    agents.length === 0 ? "no agent files" : `${agents.length}: ${agents.map((each) => each.name).join(", ")}`;
  const [first] = problems;
  if (first === undefined) return ok(name, found);
  const says = `${found}; ${first.file}: ${first.message}`;
  const fix = "sous agents check shows all of it";
  return problems.some(({ severity }) => severity === "error") ? problem(name, says, fix) : warning(name, says, fix);
}
