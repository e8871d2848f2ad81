/** The page of the codes that commands end with, and how they belong to the status of a run. */

import { EXIT, EXIT_CODE_TABLE, exitCodeOf } from "../../packages/sous/src/app/cli/exit-codes.ts";
import type { RunStatus } from "../../packages/sous/src/core/outcome.ts";
import type { RunResult } from "../../packages/sous/src/core/runtime.ts";
import { OUTCOMES, STOP_REASON_WORDS } from "../../packages/sous/src/core/words/outcomes.ts";
import { page, table, wrap } from "./markdown.ts";

type Ending = Pick<RunResult, "status" | "stopReason">;

/** In the order of the page, with what is said behind the code; a status that is not here does not compile. */
const ASIDES: Record<RunStatus, string> = {
  completed: "",
  incomplete: "",
  timeout: "",
  budget_exceeded: "",
  refused: "",
  failed: ", or 4 for a key",
  cancelled: "",
};

export function exitCodesPage(): string {
  const codes = table(
    ["code", "meaning", "what to do"],
    EXIT_CODE_TABLE.map(({ code, about, remedy }) => [String(code), about, remedy]),
  );
  const endings = table(
    ["`status`", "`stop_reason`", "code"],
    (Object.keys(ASIDES) as RunStatus[])
      .flatMap(endingsOf)
      .map((ending) => [
        `\`${ending.status}\``,
        ending.stopReason === undefined ? "" : `\`${ending.stopReason}\``,
        codeOf(ending),
      ]),
  );
  return page("Reference: exit codes", "What a command ends with, for scripts.", [
    codes,
    "## The status of a run and the code",
    wrap(
      "`sous run`, `sous resume` and `sous demo` end with the code of the run. The status of the JSON result and the code never disagree.",
    ),
    endings,
  ]);
}

/** One line for each stop reason, where the status has them. */
function endingsOf(status: RunStatus): Ending[] {
  if (OUTCOMES[status].kind !== "partial") return [{ status, stopReason: undefined }];
  return STOP_REASON_WORDS.map((stopReason) => ({ status, stopReason }));
}

function codeOf(ending: Ending): string {
  if (OUTCOMES[ending.status].exit === "signal") return "129, 130, 141 or 143";
  return `${exitCodeOf(ending, EXIT.ok)}${ASIDES[ending.status]}`;
}
