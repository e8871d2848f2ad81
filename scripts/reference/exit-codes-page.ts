/** The page of the codes that commands end with, and how they belong to the status of a run. */

import { EXIT_CODE_TABLE, exitCodeOf } from "../../packages/sous/src/cli/exit-codes.ts";
import type { RunResult } from "../../packages/sous/src/core/runtime.ts";
import { page, table, wrap } from "./markdown.ts";

type Ending = Pick<RunResult, "status" | "stopReason">;

/** Every way a run can end; one that is not here does not compile. */
const ENDINGS: Record<RunResult["status"], readonly Ending[]> = {
  completed: [{ status: "completed", stopReason: undefined }],
  incomplete: [
    { status: "incomplete", stopReason: "turns" },
    { status: "incomplete", stopReason: "consent" },
  ],
  timeout: [{ status: "timeout", stopReason: undefined }],
  budget_exceeded: [{ status: "budget_exceeded", stopReason: undefined }],
  refused: [{ status: "refused", stopReason: undefined }],
  failed: [{ status: "failed", stopReason: undefined }],
  cancelled: [{ status: "cancelled", stopReason: undefined }],
};

export function exitCodesPage(): string {
  const codes = table(
    ["code", "meaning", "what to do"],
    EXIT_CODE_TABLE.map(({ code, about, remedy }) => [String(code), about, remedy]),
  );
  const endings = table(
    ["`status`", "`stop_reason`", "code"],
    Object.values(ENDINGS)
      .flat()
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

function codeOf(ending: Ending): string {
  if (ending.status === "cancelled") return "129, 130, 141 or 143";
  const code = exitCodeOf(ending, 130);
  return ending.status === "failed" ? `${code}, or 4 for a key` : String(code);
}
