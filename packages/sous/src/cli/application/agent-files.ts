/** The agents of files as a run uses them, and the one line about what is wrong with their files. */

import type { AgentFile, AgentProblem } from "../../config/agents/file.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { Configuration } from "../../core/configuration.ts";
import { isOutsideModel, providerOf, whyNotNamed } from "../../core/model.ts";
import type { ProcessContext } from "../files/paths.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { loadAgents } from "./project.ts";

/** Warns once, however much there is to say: `sous agents check` says it. */
export async function agentFiles(
  context: ProcessContext,
  project: Pick<ProjectTrust, "files"> | undefined,
  configuration: Configuration,
  warn: (line: string) => void,
): Promise<readonly AgentFile[]> {
  const found = await loadAgents(context, project ?? { files: [] }, configuration);
  const { agents, problems } = onProviderOf(found.agents, configuration);
  const line = notesLine([...found.problems, ...problems]);
  if (line !== undefined) warn(line);
  return agents;
}

/**
 * A project was trusted to be read, not to choose whose server gets a task and which key pays for it: an agent of it that
 * names another provider runs on the model of its caller, unless the user's configuration lists that model.
 */
export function onProviderOf(
  files: readonly AgentFile[],
  { model, models }: Pick<Configuration, "model" | "models">,
): { agents: readonly AgentFile[]; problems: readonly AgentProblem[] } {
  const own = model === undefined ? undefined : providerOf(model);
  const problems: AgentProblem[] = [];
  const agents = files.map((file) => {
    // An agent of others is asked about whenever it is called, also in a file that is trusted.
    const { scope, model: named } = file;
    if (scope !== "project" || named === undefined || named === "inherit" || isOutsideModel(named)) return file;
    if (whyNotNamed(named, own, models.allow) === undefined) return file;
    problems.push({
      code: "SOUS-A005",
      file: file.file,
      severity: "warning",
      line: file.origins.fields.model?.line ?? 1,
      column: 1,
      message: `the model ${named} is ignored: a project may only choose a model of your provider, or one that models.allow lists`,
      fix: `add ${named} to models.allow in your own configuration, or leave it: the model of its caller is used`,
    });
    return { ...file, model: undefined };
  });
  return { agents, problems };
}

/** A single problem is told itself. Undefined when there is none. */
export function notesLine(problems: readonly AgentProblem[]): string | undefined {
  const [first, ...others] = problems;
  if (first === undefined) return undefined;
  const { code, file, line, message } = first;
  if (others.length === 0) return `${inertLine(file)}:${line}: ${code}: ${inertLine(message, 300)}`;
  const lost = new Set(problems.filter(({ severity }) => severity === "error").map((each) => each.file)).size;
  const notes = problems.filter(({ severity }) => severity === "warning").length;
  const told = notes === 0 ? [] : [plural(notes, "note")];
  const what =
    lost === 0
      ? `${told.join()} about agent files`
      : [`${plural(lost, "agent file")} ${lost === 1 ? "is" : "are"} not loaded`, ...told].join(", ");
  return `${what}: sous agents check`;
}
