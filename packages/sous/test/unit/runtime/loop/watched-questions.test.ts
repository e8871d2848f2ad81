/** A file that a person is asked about is looked at while the question is open, and no longer. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { ApprovalAnswer, ApprovalRequest, LateAnswer } from "../../../../src/core/approval.ts";
import { tool } from "../../../../src/core/tool.ts";
import { approvalRequest, askApproval } from "../../../../src/runtime/loop/ask-approval.ts";
import { checkCall } from "../../../../src/runtime/loop/check-call.ts";
import { hashOfFile } from "../../../../src/runtime/rights/question.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { openDescriptors } from "../../../support/left-open.ts";
import { type LoneRun, loneRun } from "../../../support/runtime/lone-run.ts";

const EDIT_TOOL = tool({
  name: "edit_file",
  description: "Edits.",
  tier: "confirm",
  inputSchema: { type: "object" },
  execute: () => "edited",
});

function open(folder: string, answer: () => Promise<ApprovalAnswer>, isGiven = false) {
  const call = {
    type: "tool-call",
    callId: "1",
    toolName: "edit_file",
    input: { path: "a.ts", old: "old", new: "new" },
  } as const;
  const schema = { parse: (value: unknown) => ({ ok: true, value }) };
  const byName = new Map([["edit_file", { tool: EDIT_TOOL, schema }]]);
  const lone: LoneRun = loneRun({
    tree: {
      cwd: folder,
      approve: () => answer(),
      givenAnswer: () => (isGiven ? ({ answer: { allow: true } } as LateAnswer) : undefined),
    },
    profile: { tools: { byName, isDeepest: false }, rights: { use: new Set(["edit_file"]) } } as object,
  });
  const request: ApprovalRequest = approvalRequest(call, call.input, lone.run);
  /** What follows what another call writes, as long as a question waits. */
  const isWatched = () => lone.questions.followWrite(() => request) !== undefined;
  return { ...lone, call, request, isWatched };
}

test("a file is watched while a person is asked about it, and not after the answer", async () => {
  await using tree = await temporaryTree({ "a.ts": "old" });
  const answer = Promise.withResolvers<ApprovalAnswer>();
  const { run, request, isWatched } = open(tree.path, () => answer.promise);
  const asking = askApproval(request, run);
  assert.equal(isWatched(), true);
  answer.resolve({ allow: true });
  assert.deepEqual([await asking, isWatched()], [undefined, false]);
});

test("a file is not watched after a question that failed", async () => {
  await using tree = await temporaryTree({ "a.ts": "old" });
  const { run, request, isWatched } = open(tree.path, () => Promise.reject(new Error("no terminal")));
  assert.match((await askApproval(request, run))?.error ?? "", /the question failed: no terminal/);
  assert.equal(isWatched(), false);
});

test("a file is not watched after an answer that was given before the question was asked again", async () => {
  await using tree = await temporaryTree({ "a.ts": "old" });
  const { run, call, isWatched } = open(tree.path, () => assert.fail("it is answered already"), true);
  const checked = await checkCall(call, run);
  assert.deepEqual(["refusal" in checked, isWatched()], [false, false]);
});

test("a file that is looked at for a question is closed again, whatever it is", async () => {
  await using tree = await temporaryTree({
    "a.ts": "old",
    "large.bin": "x".repeat(8 * 1024 * 1024 + 1),
    "folder/": "",
  });
  const before = openDescriptors();
  const hashes = ["a.ts", "large.bin", "folder", "missing"].map((name) => hashOfFile(join(tree.path, name)));
  assert.deepEqual(
    [hashes.map((hash) => hash !== undefined), openDescriptors()],
    [[true, false, false, false], before],
  );
});
