/** The models that a person has named in their configuration and agent files: metrics and spans show these by their names. */

import { messageOf } from "../../../core/errors.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import type { Configuration } from "../../config/configuration.ts";
import type { ProcessContext } from "../files/paths.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

export function configuredModels(
  { model, models, prices }: Pick<Configuration, "model" | "models" | "prices">,
  files: readonly Pick<AgentFile, "model">[],
): string[] {
  const named = [model, ...files.map((file) => file.model), ...models.allow, ...Object.keys(prices)];
  return named.flatMap((each) => (each === undefined || each === "inherit" || each.endsWith("/*") ? [] : [each]));
}

/** The models of this folder, for a command that runs no agent. A mistake in the files does not matter to it. */
export async function readConfiguredModels(configFile: string | undefined, context: ProcessContext): Promise<string[]> {
  const { findTrust, loadAgents, readConfiguration } = await import("./project.ts");
  try {
    const trust = await findTrust(context);
    const project = trust.state === "trusted" ? trust : undefined;
    const { configuration } = await readConfiguration({ flags: { configFile }, ...context, project });
    const { agents } = await loadAgents(context, project ?? { files: [] }, configuration);
    return configuredModels(configuration, agents);
  } catch (error) {
    tell(
      `warning: the models of your configuration are not known, so those without a price are shown as other: ${inertLine(messageOf(error), 500)}`,
    );
    return [];
  }
}
