/** Targets that move at awkward moments, and what must not lead to another question. */

import assert from "node:assert/strict";
import { readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { editFileTool, writeFileTool } from "../../../src/app/tools/edit-file.ts";
import type { ApprovalAnswer, ApprovalRequest, RuleAnswer } from "../../../src/core/approval.ts";
import { ApprovalNeeded } from "../../../src/core/errors.ts";
import { type Tool, type ToolContext, tool } from "../../../src/core/tool.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { answering, later, openPlace, type Place, type PlaceOptions, park } from "../../support/attacks/moved-place.ts";
import { MOMENTS, movedProblems } from "../../support/attacks/moved-problems.ts";
import { FOLDER_BECOMES_LINK } from "../../support/attacks/moved-targets.ts";
import { fakeClient, registryWith } from "../../support/requirements/embedding.ts";
import { runTree } from "../../support/requirements/run-tree.ts";
import { rulesFrom } from "../../support/runtime/rights/requests.ts";

const { call: WRITE, files: FILES, move } = FOLDER_BECOMES_LINK;
const edit = (from: string, to: string, path = "a.txt") => ["edit_file", { path, old: from, new: to }] as const;
const whole = (content: string) => ["write_file", { path: "a.txt", content }] as const;
const TWO: PlaceOptions = { files: { "a.txt": "1 3\n" }, calls: [edit("1", "2"), edit("3", "4")] };
const none = (): void => {};

test(`B5.7: a target that moves at any of ${MOMENTS.length} moments between the question and the call is not written`, async () => {
  assert.deepEqual(await movedProblems(), []);
});

test("B5.7: the second question shows where the call leads now and why it is asked, and a yes to it counts", async () => {
  await using place = await openPlace({ files: FILES, calls: [WRITE] });
  const { approve, asked } = answering(() => move(place.root), none);
  await place.process(approve).run();
  assert.deepEqual(
    asked.map(({ target, reason }) => [target?.paths, reason]),
    [
      [[place.path("docs/prod.yaml")], undefined],
      [[place.path("deploy/prod.yaml")], "what it leads to has changed since you were asked"],
    ],
  );
  assert.equal(readFileSync(place.path("deploy/prod.yaml"), "utf8"), "n: 2\n");
});

test("B5.7: a yes does not lead to a file that a rule denies", async () => {
  await using place = await openPlace({ files: FILES, calls: [WRITE] });
  const { approve: ask, asked } = answering(() => move(place.root), none);
  const rules = rulesFrom("deny write_file(deploy/**)");
  await place.process({ ...createPolicy({ rules }), ask }).run();
  assert.equal(asked.length, 1);
  assert.equal(readFileSync(place.path("deploy/prod.yaml"), "utf8"), "n: 1\n");
});

test("B5.7: an answer for always to one target does not allow another one", async () => {
  await using place = await openPlace({ files: FILES, calls: [WRITE] });
  const policy = createPolicy({ rules: [] });
  const { approve, asked } = answering(() => move(place.root));
  const ask: typeof approve = (request, signal) => {
    policy.remember(policy.describe(request).rule, request);
    return approve(request, signal);
  };
  await place.process({ ...policy, ask }).run();
  assert.equal(asked.length, 2);
  assert.equal(readFileSync(place.path("deploy/prod.yaml"), "utf8"), "n: 1\n");
});

test("B5.7: a call whose target moves each time is refused after three questions", async () => {
  await using place = await openPlace({ files: FILES, calls: [WRITE] });
  const turn = (): void => {
    renameSync(place.path("docs"), place.path("aside"));
    symlinkSync("deploy", place.path("docs"));
  };
  const back = (): void => {
    renameSync(place.path("docs"), place.path("link"));
    renameSync(place.path("aside"), place.path("docs"));
  };
  const { approve, asked } = answering(turn, back, turn, none);
  await place.process(approve).run();
  assert.deepEqual([asked.length, await place.failures()], [3, [true]]);
  assert.equal(readFileSync(place.path("deploy/prod.yaml"), "utf8"), "n: 1\n");
});

test("B5.7: an answer that is given in another folder does not count there", async () => {
  await using place = await openPlace({ files: { ...FILES, "docs/docs/": "" }, calls: [WRITE] });
  const { id, keys, digests } = await park(place);
  const { questions } = await place.process(later, place.path("deploy")).resume(id, ...keys);
  assert.equal(questions.length, 1);
  assert.notEqual(questions[0]?.digest, digests[0]);
});

test("B5.7: an external agent is not allowed what leads elsewhere when the answer comes, and asks again by itself", async () => {
  await using place = await openPlace({ files: FILES, calls: [] });
  const { approve: ask, asked } = answering(() => move(place.root), none);
  const answers: boolean[] = [];
  const client = fakeClient(async (_prompt, { host }) => {
    for (const callId of ["x", "y"]) answers.push(await host.approve({ callId, toolName: WRITE[0], input: WRITE[1] }));
    return "Fixed.";
  });
  const decide = ({ toolName }: ApprovalRequest): RuleAnswer => ({ effect: toolName === WRITE[0] ? "ask" : "allow" });
  await runTree({
    script: { lead: [calls("subagent_delegate", { task: "Fix it.", description: "a fix" }), says("Seen.")] },
    lead: { delegate: false, tools: [...registryWith({ client }), writeFileTool()] },
    runtime: { approve: { decide, ask }, host: { cwd: place.root } },
  });
  assert.deepEqual(
    [answers, asked.map(({ target }) => target?.paths[0])],
    [
      [false, true],
      [place.path("docs/prod.yaml"), place.path("deploy/prod.yaml")],
    ],
  );
});

suite("B5.7: what is still the same target is not asked about again", () => {
  test("B5.7: a file with the same content under a new time or as a new file is the same", async () => {
    await using place = await openPlace({ files: { "a.txt": "1\n", "copy.txt": "1\n" }, calls: [edit("1", "2")] });
    const { approve, asked } = answering(() => {
      renameSync(place.path("copy.txt"), place.path("a.txt"));
      utimesSync(place.path("a.txt"), 1, 1);
    });
    await place.process(approve).run();
    assert.deepEqual([asked.length, readFileSync(place.path("a.txt"), "utf8")], [1, "2\n"]);
  });

  const pairs: [what: string, options: PlaceOptions, after: readonly [c1First: string, c2First: string]][] = [
    ["two edits of one file", TWO, ["2 4\n", "2 4\n"]],
    [
      "an edit of a file that another call writes",
      { ...TWO, calls: [edit("1", "2"), whole("1 5\n")] },
      ["1 5\n", "2 5\n"],
    ],
    [
      "an edit of a file and one through a link to its folder",
      {
        files: { "b/a.txt": "1 3\n", l: "→b", "a.txt": "→b/a.txt" },
        calls: [edit("1", "2", "b/a.txt"), edit("3", "4", "l/a.txt")],
      },
      ["2 4\n", "2 4\n"],
    ],
  ];
  for (const [what, options, after] of pairs) {
    test(`B5.7: ${what} at the same time are two questions, whichever is answered first`, async () => {
      for (const [index, first] of (["c1", "c2"] as const).entries()) {
        await using place = await openPlace(options);
        const asked = await answerInOrder(place, first);
        assert.deepEqual([asked.toSorted(), readFileSync(place.path("a.txt"), "utf8")], [["c1", "c2"], after[index]]);
      }
    });
  }

  test("B5.7: two parked edits of one file that are allowed together are not asked about again", async () => {
    await using place = await openPlace(TWO);
    const { id, keys } = await park(place);
    const { questions } = await place.process(later).resume(id, ...keys);
    assert.deepEqual([questions, await place.failures()], [[], [false, false]]);
  });
});

suite(
  "B5.7: a call of the same tree does not hide what another program writes into a file that waits for an edit",
  () => {
    test("B5.7: an edit is asked about again when another program writes right behind a call of the same tree", async () => {
      const options: PlaceOptions = { ...TWO, calls: [edit("1", "2"), whole("1 5\n")] };
      await using place = await openPlace({
        ...options,
        tools: [around(writeFileTool(), () => writeFileSync(place.path("a.txt"), "prod 1\n"))],
      });
      assert.deepEqual(await answerInOrder(place, "c2"), ["c1", "c2", "c1"]);
      assert.equal(readFileSync(place.path("a.txt"), "utf8"), "prod 1\n");
    });

    test("B5.7: an edit is asked about again when another program writes while a call of the same tree asks by itself", async () => {
      let isAgreed = false;
      const agree = (): void => {
        isAgreed = true;
      };
      const asks = tool({
        name: "edit_file",
        description: "Edits.",
        tier: "confirm",
        inputSchema: z.object({ path: z.string(), old: z.string(), new: z.string() }),
        async execute(input, context) {
          if (context.callId === "c1") return editFileTool().execute(input, context);
          if (!isAgreed) throw new ApprovalNeeded("It asks by itself.", agree);
          return "Nothing to do.";
        },
      }) as Tool;
      await using place = await openPlace({ ...TWO, tools: [asks] });
      const onAsked = ({ isFromTool }: ApprovalRequest): void => {
        if (isFromTool) writeFileSync(place.path("a.txt"), "prod 1\n");
      };
      // The call that asks by itself is asked about again, too.
      assert.deepEqual(await answerInOrder(place, "c2", onAsked), ["c1", "c2", "c2", "c2", "c1"]);
      assert.equal(readFileSync(place.path("a.txt"), "utf8"), "prod 1\n");
    });
  },
);

/** Does something at the end of each call. */
function around(inner: Tool, act: () => void): Tool {
  return {
    ...inner,
    async execute(input: unknown, context: ToolContext) {
      const result = await inner.execute(input, context);
      act();
      return result;
    },
  } as Tool;
}

/** Says yes to one call when both are asked about, to the other when the first has ended, and no when that is asked about again. */
async function answerInOrder(
  place: Place,
  first: "c1" | "c2",
  onAsked: (request: ApprovalRequest) => void = none,
): Promise<string[]> {
  const asked: string[] = [];
  const ask = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    const { callId } = request;
    const isAgain = asked.includes(callId);
    asked.push(callId);
    onAsked(request);
    if (callId !== first && isAgain) return { allow: false };
    const isDue = async () => (callId === first ? asked.length > 1 : (await place.failures()).length > 0);
    while (!(await isDue())) await setImmediate();
    return { allow: true };
  };
  await place.process(ask).run();
  return asked;
}
