/** A run that continues, or that is ended without it: as it was when it began, and what it has left open. */

import { isRedacted } from "../../../core/clean-text.ts";
import type { StoredBody } from "../../../core/event.ts";
import { toolCallsOf } from "../../../core/message.ts";
import type { StoredRights } from "../../../core/rights.ts";
import type { RunProfile } from "../../../core/run.ts";
import type { RunStart } from "../../../core/run-start.ts";
import type { RunState } from "../../loop/run-state.ts";
import { withinStored } from "../../rights/narrow.ts";
import { withFewerRights } from "../changed-profile.ts";

/** The same profile, with nothing it did not have when its run began. */
export function atMost(profile: RunProfile, had: StoredRights): RunProfile {
  const rights = withinStored(profile.rights, had);
  return rights === profile.rights ? profile : withFewerRights(profile, rights);
}

/** The profile with which an interrupted run continues: nothing it did not have, and the prompt it had, where that was stored whole. */
export function asStarted(profile: RunProfile, { rights, instructions, notes }: RunStart): RunProfile {
  const within = atMost(profile, rights);
  const isSame = instructions === profile.instructions && notes === profile.notes;
  return isSame || isRedacted({ instructions, notes }) ? within : { ...within, instructions, notes };
}

/** The results of the calls that a run which is not continued has left open. */
export function interruptedCalls(state: RunState): StoredBody[] {
  const asked = state.answer === undefined ? [] : toolCallsOf(state.answer.message);
  return [...state.calls].flatMap(([callId, call]): StoredBody[] => {
    if (call.state === "ended") return [];
    const reason = "the run was interrupted";
    const withdrawn = { type: "approval-end", callId, allowed: false, by: "cancelled", reason } as const;
    const toolName = asked.find((each) => each.callId === callId)?.toolName ?? "";
    const result = { output: "The call was interrupted", isError: true, durationMs: 0 };
    const ended = { type: "tool-call-end", callId, toolName, ...result } as const;
    return call.state === "asked" ? [withdrawn, ended] : [ended];
  });
}
