/** Trees in which a child has asked a question, each as its process left it: with an answer, without one, or with an end. */

import type { StoredBody } from "../../../../src/core/event.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";

/** Those that still wait. */
export const STILL_ASKING = ["asked", "asked-again", "half", "long", "other-call"];

export function askingTrees(): SampleTree[] {
  return Object.entries(GO_ON).map(([rootId, goOn], index) => {
    const tree = sampleTree(rootId, 1_000 * (index + 1));
    const child = `${rootId}-child`;
    tree.start(rootId);
    tree.start(child, {
      parent: rootId,
      details: { model: rootId === "external" ? "external/claude" : "local/model" },
    });
    tree.add(child, ask("call_1/0", rootId === "long" ? "x".repeat(100_000) : "x"));
    goOn(tree, child);
    return tree;
  });
}

const GO_ON: Readonly<Record<string, (tree: SampleTree, child: string) => void>> = {
  asked: () => undefined,
  "asked-again": (tree, child) => tree.add(child, ask("call_1/0")),
  half: (tree, child) => {
    tree.add(child, ask("call_2"));
    tree.add(child, answer("call_1/0"));
  },
  long: (tree, child) => tree.add(child, result("call_12")),
  "other-call": (tree, child) => tree.add(child, answer("call_1")),
  external: () => undefined,
  answered: (tree, child) => tree.add(child, answer("call_1/0")),
  "answered-again": (tree, child) => {
    tree.add(child, ask("call_1/0"));
    tree.add(child, answer("call_1/0"));
  },
  "has-a-result": (tree, child) => tree.add(child, result("call_1")),
  "has-a-long-result": (tree, child) =>
    tree.add(child, result("call_1", `"callId":"call_2" \0 ${"x".repeat(100_000)}`)),
  ended: (tree, child) => tree.end(child),
  "root-ended": (tree) => tree.end(tree.rootId),
};

function ask(callId: string, command = "x"): StoredBody {
  return { type: "approval-request", callId, toolName: "terminal", input: { command } };
}

function answer(callId: string): StoredBody {
  return { type: "approval-end", callId, allowed: false, by: "person", reason: "no" };
}

function result(callId: string, output = "Done."): StoredBody {
  return { type: "tool-call-end", callId, toolName: "terminal", output, isError: false, durationMs: 1 };
}
