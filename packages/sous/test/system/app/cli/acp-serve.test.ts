/** Tests the ends of `sous acp serve`, and what the next process knows of its sessions. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { callsOf, editor, home, newSession, say, textOf } from "../../bridges/acp/serve-client.ts";

const HANGS = { text: "Working", ending: "hangs" };

suite("the life of sous acp serve", () => {
  test("sessions are continued by the next process: after the end of input, after a kill, until SIGTERM", async () => {
    await using place = await home();
    const cwd = await place.project("shop", {
      sous: [
        { text: "First.", calls: [{ tool: "read_file", input: { path: "pay.ts" } }] },
        { text: "Read." },
        { text: "Second." },
      ],
    });
    const slow = await place.project("slow", { sous: [HANGS] });

    const first = await editor(place);
    const { sessionId } = await newSession(first, cwd);
    const { sessionId: unused } = await newSession(first, cwd);
    assert.equal((await say(first, sessionId, "one")).stopReason, "end_turn");
    const { sessionId: cut } = await newSession(first, slow);
    const live = say(first, cut, "work").catch(() => "gone");
    await first.until(cut, (update) => textOf([update]) !== "");
    first.process.stdin?.end();
    assert.equal(await first.ended, 0);
    await live;

    {
      await using store = await openSqliteStore(join(place.path, ".local/share/sous/sous.db"), { readOnly: true });
      assert.equal((await store.run(sessionId))?.agentId, sessionId);
      assert.equal((await store.run(cut))?.status, "cancelled");
      assert.equal(await store.run(unused), undefined);
    }

    const second = await editor(place);
    await second.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    const shown = second.updates(sessionId);
    assert.deepEqual(shown[0], { sessionUpdate: "user_message_chunk", content: { type: "text", text: "one" } });
    assert.equal(textOf(shown), "First.Read.");
    assert.equal(callsOf(shown).get("read_file pay.ts")?.status, "completed");
    await assert.rejects(second.agent.request("session/load", { sessionId: unused, cwd, mcpServers: [] }), {
      code: -32002,
      message: /Unknown session/,
    });
    await assert.rejects(second.agent.request("session/load", { sessionId, cwd: slow, mcpServers: [] }), /--here/);
    const { sessionId: killed } = await newSession(second, slow);
    void say(second, killed, "work").catch(() => "gone");
    await second.until(killed, (update) => textOf([update]) !== "");
    second.process.kill("SIGKILL");
    await second.ended;

    // What was interrupted is finished before the next message is answered.
    const rest = { sous: [{ text: "Finished." }, { text: "Third." }, HANGS] };
    await writeFile(join(slow, "script.json"), JSON.stringify(rest));
    const third = await editor(place);
    await third.agent.request("session/resume", { sessionId: killed, cwd: slow });
    assert.deepEqual(third.updates(killed), []);
    assert.equal((await say(third, killed, "and now?")).stopReason, "end_turn");
    assert.equal(textOf(third.updates(killed)), "Finished.Third.");
    void say(third, killed, "and then?").catch(() => "gone");
    await third.until(killed, (update) => textOf([update]) === "Working");
    third.process.kill("SIGTERM");
    assert.equal(await third.ended, 143);
  });

  test("F2: a prompt belongs to the trace that its editor names, else to that of the process", async () => {
    await using place = await home();
    const cwd = await place.project("shop", { sous: [{ text: "One." }, { text: "Two." }, { text: "Three." }] });
    const [ofProcess, ofPrompt] = ["1", "2"].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
    const parameters = ["--model", "script/script.json"];
    const served = await editor(place, parameters, { TRACEPARENT: ofProcess ?? "" });
    const { sessionId } = await newSession(served, cwd);
    for (const meta of [{ traceparent: ofPrompt }, {}, { traceparent: "nonsense", tracestate: 7 }])
      assert.equal((await say(served, sessionId, "next", meta)).stopReason, "end_turn");
    served.process.stdin?.end();
    assert.equal(await served.ended, 0);
    await using store = await openSqliteStore(join(place.path, ".local/share/sous/sous.db"), { readOnly: true });
    const starts = (await store.read(sessionId)).filter((event) => event.type === "run-start");
    assert.deepEqual(
      starts.map(({ traceparent }) => traceparent),
      [ofPrompt, ofProcess, ofProcess],
    );
  });
});
