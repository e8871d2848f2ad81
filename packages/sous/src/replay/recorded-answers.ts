/** What the person, the rules and the schemas answered then, given again in a rerun. */

import type { ApprovalPolicy, Approve } from "../core/approval.ts";
import type { JsonSchema, Parsed, Schema } from "../core/schema.ts";
import type { ShownTool } from "../core/tool-set.ts";
import type { Comparison } from "./comparison.ts";
import type { Playback } from "./playback.ts";
import type { RunRecording } from "./recording.ts";

/** What the loop says before the words of a question that failed (`loop/ask-consent.ts`). */
const FAILED = "the question failed: ";

/** Asks where it was asked then: by the rules, if there were any, else by the tiers of the tools. */
export function recordedConsent(playback: Playback): Approve | ApprovalPolicy | undefined {
  const ask = recordedApprove(playback);
  if (playback.root.start.terms?.hasRules !== true) return ask;
  return {
    ask,
    decide({ runId, callId }) {
      const run = playback.runOf(runId);
      const recorded = playback.ids.toRecorded(callId);
      if (run?.asked.has(recorded) === true) return { effect: "ask" };
      // A child that is outside is asked about as a part of the call that made it: `call_1/0`.
      const [call = ""] = recorded.split("/");
      const isKnown = run?.calls.has(recorded) === true || run?.calls.has(call) === true;
      return isKnown ? { effect: "allow" } : undefined;
    },
  };
}

/** Undefined when no one could be asked then. */
function recordedApprove(playback: Playback): Approve | undefined {
  const { recording, conductor, ids } = playback;
  const hadPerson = (asked: RunRecording["asked"], consents: RunRecording["consents"]): boolean =>
    [...asked.keys()].some((callId) => {
      const consent = consents.get(callId);
      return consent?.by !== "nobody" || consent.reason?.startsWith(FAILED) === true;
    });
  const wasThere = [...recording.runs.values()].some(
    ({ asked, consents, toolAsked, toolConsents }) => hadPerson(asked, consents) || hadPerson(toolAsked, toolConsents),
  );
  if (!wasThere) return undefined;
  return async (request, signal) => {
    const run = playback.runOf(request.runId);
    const callId = ids.toRecorded(request.callId);
    const [asked, consents] =
      request.isFromTool === true ? [run?.toolAsked, run?.toolConsents] : [run?.asked, run?.consents];
    if (asked?.has(callId) !== true) return { allow: false, reason: "no one was asked then" };
    const consent = consents?.get(callId);
    await conductor.turn(consent?.by === "cancelled" ? undefined : consent, signal);
    if (consent?.by === "nobody") throw new Error(consent.reason?.slice(FAILED.length));
    return consent?.allowed === true ? { allow: true } : { allow: false, reason: consent?.reason };
  };
}

/** The input schema of a tool: an input that a person was asked about is known as it was parsed. */
export function playedInput(run: RunRecording, { name, inputSchema }: ShownTool): Schema {
  const verdicts = new Map<string, Parsed>();
  for (const { callId, toolName, input } of run.calls.values()) {
    if (toolName !== name) continue;
    const result = run.results.get(callId);
    const asked = run.asked.get(callId) ?? run.toolAsked.get(callId);
    if (result?.metadata?.error_type === "invalid_input")
      verdicts.set(JSON.stringify(input), { ok: false, problems: [result.output] });
    else if (asked !== undefined) verdicts.set(JSON.stringify(input), { ok: true, value: asked.input });
  }
  return { jsonSchema: inputSchema, parse: (value) => verdicts.get(JSON.stringify(value)) ?? { ok: true, value } };
}

/** What the loop says before the problems of an answer that it does not ask for again (`loop/close-run.ts`). */
const MISMATCH = "The answer does not match the output schema: ";

/** The output schema of a run: asked about its latest answer, it says what became of that. */
export function playedOutput(run: RunRecording, jsonSchema: JsonSchema, comparison: Comparison): Schema {
  const { events, end } = run;
  return {
    jsonSchema,
    parse(value) {
      const answered = events.findLastIndex((event) => event.type === "message-end" && comparison.hasCome(event));
      const repair = events.find(
        (event, index) => index > answered && event.type === "notice" && event.reason === "output-repair",
      );
      if (repair?.type === "notice") return problem(repair.text.slice(repair.text.indexOf("\n") + 1));
      if (end?.fault?.message.startsWith(MISMATCH) === true) return problem(end.fault.message.slice(MISMATCH.length));
      return { ok: true, value: end === undefined ? value : end.output };
    },
  };
}

function problem(text: string): Parsed {
  return { ok: false, problems: [text] };
}
