/** The promises of every store that can place runs about mail and news: a part of `placing-contract.ts`. */

import assert from "node:assert/strict";
import type { NewMail, News } from "../core/engine.ts";
import { FIRST_FENCE } from "../core/store.ts";
import type { CheckPlacing } from "./placing-contract.ts";
import { answerTo, begunRoot, parked, placeScouts, startOf, worker } from "./placing-samples.ts";
import { plain, samplePlaced, sampleTree } from "./sample-tree.ts";

const STOP = { kind: "stop", mode: "stop" } as const;

export function mailPromises(check: CheckPlacing, tellsWhat: boolean): void {
  check("mail is read in the order in which it was posted, and by its number once", async ({ store, other }) => {
    await placeScouts(store, 3);
    const sent: NewMail[] = [
      { to: "scout0", body: { kind: "steer", path: "lead/scout0", text: "a\0b \ud800 '; drop table mail; --" } },
      { to: "scout1", body: { kind: "stop", mode: "wrap-up", path: "lead/scout1" } },
      { to: "scout0", body: { kind: "stop", mode: "stop" } },
      { to: "scout0", body: { kind: "answer", runId: "a", callId: "b", digest: "c", answer: "no", reason: "No." } },
    ];
    await store.placing.post(sent.slice(0, 2));
    await store.placing.post(sent.slice(2));
    const mail = await other.placing.mail(["scout0", "scout1", "scout2", "unknown"], 0);
    assert.deepEqual(plain(mail.map(({ journalId, body }) => ({ to: journalId, body }))), plain(sent));
    const numbers = mail.map(({ id }) => id);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((one, two) => one - two),
    );
    assert.deepEqual(
      await other.placing.mail(["scout0"], 0),
      mail.filter(({ journalId }) => journalId === "scout0"),
    );
    assert.deepEqual(await other.placing.mail(["scout0"], mail[1]?.id ?? 0), mail.slice(2));
    assert.deepEqual(await other.placing.mail(["scout0", "scout1"], mail.at(-1)?.id ?? 0), []);
    assert.deepEqual(await other.placing.mail([], 0), []);
  });

  check("mail that several post at once is read once each, by a reader that never looks back", async (stores) => {
    const { store, other } = stores;
    await placeScouts(store, 2);
    const texts = Array.from({ length: 60 }, (_, index) => String(index));
    const posting = texts.map((text, index) =>
      (index % 2 === 0 ? store : other).placing.post([
        { to: `scout${index % 2}`, body: { kind: "steer", path: "lead", text } },
      ]),
    );
    let isPosting = true;
    const posted = Promise.all(posting).finally(() => {
      isPosting = false;
    });
    const read: string[] = [];
    for (let after = 0, isLast = false; ; ) {
      isLast = !isPosting;
      const mail = await store.placing.mail(["scout0", "scout1"], after);
      after = mail.at(-1)?.id ?? after;
      read.push(...mail.map(({ body }) => (body.kind === "steer" ? body.text : "")));
      if (isLast) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await posted;
    assert.deepEqual(read.sort(), texts.sort());
  });

  check("mail for a whole tree reaches its queued and its held journals, and no other", async ({ store, other }) => {
    await placeScouts(store, 3);
    const [held, ended] = await other.placing.take(worker(), 2);
    assert.deepEqual([held?.journalId, ended?.journalId], ["scout0", "scout1"]);
    const root = await begunRoot(store, "other");
    const start = startOf(samplePlaced(root, "other", "ended", "scout"));
    const foreign = samplePlaced(root, "other", "foreign", "scout");
    await store.placing.place([start, startOf(foreign)]);
    const scout = samplePlaced(start, "lead", "scout1", "scout");
    scout.end("scout1");
    await other.append("scout1", scout.events.slice(1), FIRST_FENCE);
    const placedRoot = sampleTree("placed");
    placedRoot.start("placed", { details: { agent: "writer", placed: { rootId: "placed", budgets: [] } } });
    await store.placing.place([startOf(placedRoot)]);
    for (const to of ["lead", "placed", "scout0", "unknown", ""])
      await store.placing.post([{ to, isForTree: true, body: STOP }]);
    const everyone = ["lead", "scout0", "scout1", "scout2", "other", "ended", "foreign", "placed", "unknown", ""];
    const mail = await other.placing.mail(everyone, 0);
    assert.deepEqual(mail.map(({ journalId }) => journalId).sort(), ["placed", "scout0", "scout2"]);
    for (const { body } of mail) assert.deepEqual(plain(body), STOP);
  });

  check(
    "mail for what is no journal, has ended, or was not placed does nothing, and mail ends with its journal",
    async (stores) => {
      const { store, other } = stores;
      const scout = samplePlaced(await begunRoot(store), "lead", "scout");
      await store.placing.place([startOf(scout)]);
      const addresses = ["lead", "scout", "unknown", "", "grepper", "' or 1=1 --"];
      const post = () => store.placing.post(addresses.map((to) => ({ to, body: STOP })));
      await post();
      const readers = async () => (await other.placing.mail(addresses, 0)).map(({ journalId }) => journalId);
      assert.deepEqual(await readers(), ["scout"]);
      await other.placing.take(worker(), 1);
      scout.start("grepper", { parent: "scout" });
      scout.end("grepper");
      await other.append("scout", scout.events.slice(1), FIRST_FENCE);
      assert.deepEqual(await readers(), ["scout"]);
      scout.end("scout");
      await other.append("scout", scout.events.slice(3), FIRST_FENCE);
      assert.deepEqual(await readers(), []);
      await post();
      assert.deepEqual(await readers(), []);
    },
  );

  check("the numbers of mail grow, also when all of it is gone", async ({ store, other }) => {
    await placeScouts(store, 2);
    await store.placing.post([{ to: "scout0", body: STOP }]);
    const [first] = await store.placing.mail(["scout0"], 0);
    await other.placing.take(worker(), 1);
    const ended = samplePlaced(await begunRoot(store, "other"), "lead", "scout0");
    ended.end("scout0");
    await other.append("scout0", ended.events.slice(1), FIRST_FENCE);
    await store.placing.post([{ to: "unknown", body: STOP }]);
    await store.placing.post([{ to: "scout1", body: STOP }]);
    const [second] = await store.placing.mail(["scout0", "scout1"], 0);
    assert.ok(first !== undefined && second !== undefined && second.id > first.id);
    assert.deepEqual(await store.placing.mail(["scout1"], first.id), [second]);
  });

  check("a parked run is taken once for the answer to an open question, and for no other mail", async (stores) => {
    const { store, other } = stores;
    const scout = await parked(stores);
    const written = scout.events.length;
    const steer = { to: "scout", body: { kind: "steer", path: "lead/scout", text: "Well?" } } as const;
    await store.placing.post([steer, answerTo("call_3"), answerTo("call_1", "lead"), answerTo("call")]);
    assert.deepEqual(await other.placing.take(worker(), 9), []);
    await store.placing.post([answerTo("call_2")]);
    assert.deepEqual(await other.placing.take(worker(), 9), [{ journalId: "scout", fence: 2, claims: 1 }]);
    await other.release("scout", 2);
    assert.deepEqual(await other.placing.take(worker(), 9), [], "what it was taken for before");
    await store.placing.post([answerTo("call_2")]);
    assert.equal((await other.placing.take(worker(), 9)).length, 1);
    for (const callId of ["call_2", "call_1"])
      scout.add("scout", { type: "approval-end", callId, allowed: true, by: "person", reason: undefined });
    await other.append("scout", scout.events.slice(written, -1), 3);
    await other.release("scout", 3);
    await store.placing.post([answerTo("call_2")]);
    assert.deepEqual(await other.placing.take(worker(), 9), [], "a question that has its answer");
  });

  check("a parked run is taken for a stop that came after it was taken, unless it recorded it", async (stores) => {
    const { store, other } = stores;
    const scout = await parked(stores);
    await store.placing.post([{ to: "scout", body: STOP }]);
    assert.equal((await other.placing.take(worker(), 9)).length, 1);
    await store.placing.post([{ to: "lead", isForTree: true, body: STOP }]);
    await other.release("scout", 2);
    assert.equal((await other.placing.take(worker(), 9)).length, 1, "it may not have read the second one");
    await store.placing.post([{ to: "scout", body: STOP }]);
    const last = (await other.placing.mail(["scout"], 0)).at(-1);
    scout.add("scout", { type: "cancel", mode: "stop", mail: last?.id });
    await other.append("scout", scout.events.slice(-1), 3);
    await other.release("scout", 3);
    assert.deepEqual(await other.placing.take(worker(), 9), []);
  });

  if (tellsWhat)
    check("a listener hears what others place, end, give back and post, and where", async ({ store, other }) => {
      const heard = collected();
      using _listening = store.placing.listen(heard.add);
      await placeScouts(other, 2);
      await heard.until(({ kind }) => kind === "placed");
      await other.placing.post([{ to: "scout1", body: STOP }]);
      await heard.until(({ kind, journalId }) => kind === "mail" && journalId === "scout1");
      await other.placing.take(worker(), 1);
      await other.release("scout0", FIRST_FENCE);
      await heard.until(({ kind, journalId }) => kind === "placed" && journalId === "scout0");
      await other.placing.take(worker(), 1);
      const scout = samplePlaced(await begunRoot(other, "another"), "lead", "scout0");
      scout.end("scout0");
      await other.append("scout0", scout.events.slice(1), 2);
      await heard.until(({ kind, journalId }) => kind === "ended" && journalId === "scout0");
    });

  check("a listener is called twice a second, and not after it has left", async ({ store }) => {
    const heard = collected();
    const gone = collected();
    store.placing.listen(gone.add)[Symbol.dispose]();
    using _listening = store.placing.listen(heard.add);
    const begin = performance.now();
    for (let calls = 0; calls < 3; calls++) await heard.until(({ kind }) => kind === "all");
    assert.ok(performance.now() - begin < 2_000, "three calls in two seconds at the latest");
    assert.deepEqual(gone.news, []);
  });
}

/** News as they come. `until` looks at what came since it last found something; the time of the test runner is the limit. */
function collected() {
  const news: News[] = [];
  let seen = 0;
  let wake: () => void = () => undefined;
  return {
    news,
    add: (each: News) => {
      news.push(each);
      wake();
    },
    async until(isWanted: (news: News) => boolean): Promise<void> {
      for (;;) {
        const index = news.findIndex((each, at) => at >= seen && isWanted(each));
        if (index !== -1) {
          seen = index + 1;
          return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
