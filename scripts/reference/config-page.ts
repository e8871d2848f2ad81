/** The page of the settings: every key with what it allows, its default, its variable, and what a project may do with it. */

import { settingFacts } from "../../packages/sous/src/app/config/explain.ts";
import { OTHER_VARIABLES } from "../../packages/sous/src/app/config/layer.ts";
import { ALL_SETTINGS, type Setting } from "../../packages/sous/src/app/config/settings.ts";
import { OTEL_VARIABLES } from "../../packages/sous/src/bridges/telemetry/otlp-settings.ts";
import { page, prose, table, wrap } from "./markdown.ts";

export function configPage(): string {
  return page(
    "Reference: configuration",
    "Every setting of `$XDG_CONFIG_HOME/sous/config.yaml` and of a project's `.sous/config.yaml`.",
    [
      wrap(
        "A setting comes from a flag, else from a variable, else from the file of the project, else from the file of the user, else it has its default. `--config FILE` or `SOUS_CONFIG` stands in for the user's file. The file of a project is read only after `sous trust`, and may only add and narrow: what it may not say is ignored with a warning. A time is a number of seconds, or a text such as `90s`, `5m`, `2h`; `null` unsets what has no default. Unknown keys are mistakes, and a command that finds a [mistake](errors.md#the-configuration) starts nothing. `sous config explain KEY` says where a value comes from, `sous config check` finds every mistake at once, and `sous config schema` prints a JSON Schema for editors.",
      ),
      ...[...new Set(ALL_SETTINGS.map(groupOf))].map(groupSection),
      "## `.mcp.json`",
      wrap(
        "The MCP servers of a trusted project, below `mcpServers` or `servers`, with the fields of `mcp_servers`; comments and trailing commas are read. Fields of other programs have no effect, also those that allow calls there, and one warning names them. A mistake costs only the server it is in. Of two servers with one name, yours goes before that of `.sous/config.yaml`, and that before the one of `.mcp.json`. A number as `timeout` or `start_timeout` is seconds below 1000, else milliseconds, as other programs write it.",
      ),
      wrap(
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write.
        "`${NAME}` and `${NAME:-x}` in `command`, `args`, `env`, `cwd`, `url` and `headers` stand for variables; `${env:NAME}`, `${workspaceFolder}` and `${userHome}` are read, too. In your own configuration any variable is filled in. In the files of a project only those are that `mcp_variables` lists, and those that every program gets, such as `HOME`, `PATH`, `USER` and `LANG`: a repository must not send your keys to its own address. A server that lacks a variable is not started, and a warning says which.",
      ),
      "## Other variables",
      table(
        ["variable", "meaning"],
        Object.entries(OTHER_VARIABLES).map(([name, text]) => [`\`${name}\``, prose(text)]),
      ),
      "## Variables of OpenTelemetry",
      wrap(
        "Traces and metrics are sent when `telemetry.otlp_endpoint` or one of the `…_ENDPOINT` variables is set. These variables are those of your shell: no file of a project is read for them.",
      ),
      table(
        ["variable", "meaning"],
        Object.entries(OTEL_VARIABLES).map(([name, text]) => [`\`${name}\``, text]),
      ),
    ],
  );
}

function groupOf({ key }: Setting): string {
  return key.includes(".") ? key.slice(0, key.lastIndexOf(".")) : "At the top";
}

function groupSection(group: string): string {
  const settings = ALL_SETTINGS.filter((setting) => groupOf(setting) === group);
  const title = group === "At the top" ? group : `\`${group}\``;
  return [`## ${title}`, ...settings.map(describe)].join("\n\n");
}

function describe(setting: Setting): string {
  const { description, allowed, fallback, variable, project } = settingFacts(setting);
  const facts = [
    `Allowed: ${prose(allowed)}.`,
    `Default: ${prose(fallback)}.`,
    ...(variable === undefined ? [] : [`Variable: \`${variable}\`.`]),
    `In a project: ${project}.`,
  ];
  return [`### ${setting.key}`, wrap(prose(description)), wrap(facts.join(" "))].join("\n\n");
}
