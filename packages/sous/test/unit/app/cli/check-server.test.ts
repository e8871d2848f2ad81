/** The check of an agent server starts its program, and has ended it before it answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkServer } from "../../../../src/app/cli/acp/check-server.ts";
import type { AgentServer } from "../../../../src/app/config/configuration.ts";
import type { Programs } from "../../../../src/core/process.ts";
import { handshake, stubAgent } from "../../../support/bridges/acp/stub-agent.ts";

const SERVER = { name: "toy", command: "toy", args: [], env: {}, timeoutMs: 60_000 } as object as AgentServer;

test("the program of a server that is checked has ended, whatever was found", async () => {
  for (const [opensSession, sessionId, problem] of [
    [false, "s1", undefined],
    [true, "s1", undefined],
    [true, 7, "The agent server toy gave no valid answer to session/new: update it"],
  ] as const) {
    const stub = stubAgent((method) => (method === "session/new" ? { sessionId } : handshake(method)));
    const programs = { ...stub.start.programs, find: async () => "/bin/toy" } as Programs;
    const checked = await checkServer(SERVER, { programs, cwd: "/", opensSession });
    assert.deepEqual([checked.problem, stub.isWanted()], [problem, false]);
  }
});
