/** The page of what stays the same, where sous runs, and every limit on one page, with the values of the code. */

import { EVENT_VERSION } from "../../packages/sous/src/core/words/event-rows.ts";
import { ENGINES } from "../packed-manifest.ts";
import { LIMITS } from "./limits-table.ts";
import { page, table, wrap } from "./markdown.ts";

export function limitsPage(): string {
  return page("Stability, platforms and limits", "What you can build on, where it runs, and where it ends.", [
    ...stability(),
    ...platforms(),
    "## Limits",
    wrap(
      "A limit in the last column can be changed: a key of the [configuration](config.md), an option in code, or both. The others are fixed.",
    ),
    ...Object.entries(LIMITS).flatMap(([title, rows]) => [
      `### ${title}`,
      table(["what", "limit", "beyond it", "change it"], rows),
    ]),
  ]);
}

function stability(): string[] {
  return [
    "## Stability",
    wrap(
      "This is version 0.1. Until 1.0 a minor version may change what is not listed here as stable; the [changelog](../../CHANGELOG.md) says what.",
    ),
    table(
      ["what", "promise"],
      [
        [
          "JSON of commands",
          "`schema` names the form: `sous.result.v1`, `sous.stream.v1`. A change that breaks readers gets another name; new fields may appear.",
        ],
        [
          "[exit codes](exit-codes.md)",
          "a code keeps its meaning; a status that is not yet there may get a code of its own",
        ],
        [
          "[events](events.md)",
          `stored events have schema version ${EVENT_VERSION}. Whatever is added to them or changed in them raises it, a new type or an optional field too. Journals of earlier versions load; those of a later version are refused, with a sentence that says so. A fold of yours passes over types that it does not know: a later version may have more.`,
        ],
        [
          "SQLite and Postgres",
          "the first opening by a newer version brings the tables up to date, in one transaction. A file of a newer version is refused by an older one and left as it is: there is no way back but a copy (`backup`, `exportTree`).",
        ],
        [
          "exports",
          "what the [pages of the library](api/README.md) list. The list is compared in a test; other files of the package are not for import.",
        ],
        ["error codes", "`SOUS-C…` and `SOUS-A…` keep their meaning. Sentences may change: do not compare them."],
        [
          "texts that models read",
          "tool descriptions and prompts may change in any version; models decide differently then",
        ],
        ["prices", "the table is as old as its [date](providers.md#prices), and changes with versions"],
      ],
    ),
  ];
}

function platforms(): string[] {
  return [
    "## Platforms",
    table(
      ["where", "state"],
      [
        [
          `Node ${ENGINES.node.replace(">=", "")} and newer`,
          "tested: the packed package on the latest 22, everything on 24, on Linux x64. `await using` in your own code needs 24 or a compiler.",
        ],
        ["Linux", "tested. Other processors than x64 are not."],
        [
          "macOS",
          "not tested. Paths for it exist (file access without `/proc`, its shell and `sed`), and were never run by a test.",
        ],
        [
          "Windows",
          "not tested. The `terminal` tool and the programs of external agents need a POSIX shell and process groups; use WSL.",
        ],
        [
          "Bun 1.4, Deno 2.9",
          "tried by hand on 2026-11-15 with the packed package, `sous/sqlite` included; not part of the tests",
        ],
        [
          "edge runtimes",
          "the core of `sous` with the store in memory runs in workerd with `nodejs_compat`; `npm run interop -- install` tries it. Tools for files and programs, SQLite and the command line need Node.",
        ],
        ["browsers", "not supported"],
        [
          "serverless functions",
          "a run must end within one invocation: what is frozen in between does not work on. Store runs in Postgres and [resume](../how-to/run-in-a-server.md#resume-at-boot) what was cut off.",
        ],
        [
          "TypeScript",
          "types are checked with `strict` and TypeScript 7; 5.6 was tried by hand. ESM; `require` works on Node 22.18 and newer.",
        ],
      ],
    ),
  ];
}
