/** The page of what `--json` and `stream-json` print. */

import {
  CANCEL_JSON,
  DETACHED_JSON,
  ERROR_JSON,
  INIT_JSON,
  type JsonField,
  LINE_JSON,
  RESULT_JSON,
  STATS_JSON,
  SUMS_JSON,
  WORKER_JSON,
  WORKER_LINE_JSON,
} from "../../packages/sous/src/app/cli/table/json-table.ts";
import { inlineCode, page, table, wrap } from "./markdown.ts";

export function jsonPage(): string {
  return page(
    "Reference: JSON output",
    "What `sous run`, `sous resume`, `sous stats` and `sous worker` print for programs, and how commands report errors.",
    [
      wrap(
        "`--json` prints one object at the end. `--output-format stream-json` prints one object a line while the run works. Names are snake_case. A field that has no value is null and not missing. Every `usage` has the fields that the first table names. How to use them is in [Use sous in scripts and CI](../how-to/use-in-scripts-and-ci.md#read-the-result).",
      ),
      "## The result",
      wrap(
        "It is printed however the run ends, also after a signal and when no run began. The [exit code](exit-codes.md) follows from `status` and `stop_reason`.",
      ),
      fields(RESULT_JSON),
      "## The stream",
      wrap(
        "The first line is `init`, the last is `result` with the fields above, also after a failure or a signal. What goes wrong before there is a run, such as an unknown option or a mistake in the configuration, is a `result` alone. U+2028 and U+2029 are escaped, so a line ends only where it ends. Every line has these fields:",
      ),
      fields(LINE_JSON),
      "### The line `init`",
      fields(INIT_JSON),
      "### Events",
      wrap(
        "Every other line is one of the [events](events.md), with its fields in snake_case. Events that are stored have `seq`, which counts without gaps within the tree. `text-delta`, `reasoning-delta`, `tool-progress`, `budget-wait` and `budget-near` are not stored, have no `seq`, and are dropped for a reader that is too slow. A reader that closes the pipe stops the run at its next event.",
      ),
      "## The object of `sous stats`",
      wrap(
        "Numbers are not rounded. All lists are complete, whatever `--by` says; after 10,000 names of one kind the others are counted together as `other`. How to use it is in [See what was spent](../how-to/see-what-was-spent.md).",
      ),
      fields(STATS_JSON),
      wrap("`total` and every entry of the lists have these fields besides:"),
      fields(SUMS_JSON),
      "## The object of `sous run --detach`",
      fields(DETACHED_JSON),
      "## The object of `sous cancel`",
      fields(CANCEL_JSON),
      "## The lines of `sous worker`",
      wrap(
        "`sous worker --json` prints one object a line: `init` first, two of the type `run` for every run that it takes, and `result` last. Every line has these fields:",
      ),
      fields(WORKER_LINE_JSON),
      ...Object.entries(WORKER_JSON).flatMap(([type, rows]) => [`### Its lines \`${type}\``, fields(rows)]),
      "## An error of a command",
      wrap(
        "`sous run --json` always prints the result. Every other command with `--json` that cannot do what it was asked prints this object in place of its own, `sous resume` too when there is no run to continue.",
      ),
      fields(ERROR_JSON),
    ],
  );
}

/** The fields of tokens are those of the result, wherever they are. */
function fields(rows: readonly JsonField[]): string {
  const isTold = ({ name }: JsonField): boolean =>
    /(?:^|\.)usage\./.test(name) && !(rows === RESULT_JSON && name.startsWith("usage."));
  return table(
    ["field", "type", "meaning"],
    rows.filter((row) => !isTold(row)).map(({ name, type, about }) => [`\`${name}\``, inlineCode(type), about]),
  );
}
