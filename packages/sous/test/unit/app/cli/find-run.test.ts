/** Finds the run that is meant, when the runs of several folders lie in one database. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { CommandError } from "../../../../src/app/cli/exit-codes.ts";
import { changeTo, shellWord, shortFolder, thisFolder } from "../../../../src/app/cli/files/paths.ts";
import { isThere } from "../../../../src/app/cli/stored/database.ts";
import { findRun, folderNote, type RunSearch } from "../../../../src/app/cli/stored/find-run.ts";
import { listConversations } from "../../../../src/app/cli/stored/list-conversations.ts";
import { NO_OWNER, type Store } from "../../../../src/core/store.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

const IDS = {
  done: "01K2F8AAAA0000000000000001",
  child: "01K2F8BBBB0000000000000002",
  broken: "01K2F8CCCC0000000000000003",
  elsewhere: "01K2F8DDDD0000000000000004",
  nowhere: "01K2F8EEEE0000000000000005",
} as const;

/** In this order: two trees of the shop, an interrupted one of the bakery, and one that does not say where. */
async function severalFolders(): Promise<Store> {
  const store = openMemoryStore();
  const task = (text: string) => ({ role: "user", content: [{ type: "text", text }] }) as const;
  const add = async (id: string, time: number, details: object, isEnded: boolean): Promise<void> => {
    const tree = sampleTree(id, time);
    tree.start(id, { label: "lead", details });
    if (id === IDS.done) {
      tree.start(IDS.child, { parent: id });
      tree.end(IDS.child);
    }
    if (isEnded) tree.end(id);
    await store.append(id, tree.events, NO_OWNER);
  };
  await add(IDS.done, 1000, { cwd: "/srv/shop", task: task("Sell.") }, true);
  await add(IDS.broken, 2000, { cwd: "/srv/shop", task: task("Count.") }, false);
  await add(IDS.elsewhere, 3000, { cwd: "/srv/my bakery", task: task("Bake.") }, false);
  await add(IDS.nowhere, 4000, { task: task("Float.") }, true);
  return store;
}

function place(cwd: string, elsewhere: RunSearch["elsewhere"] = "refuse") {
  return { cwd, elsewhere, takenBy: (id: string) => `sous resume ${id} --here` };
}

suite("G5: a run is looked for in the folder of the command", async () => {
  const store = await severalFolders();
  const found = async (given: string | undefined, from: RunSearch): Promise<string> => {
    try {
      return (await findRun(store, given, from)).id;
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === 1) return error.message;
      throw error;
    }
  };

  test("last and the newest interrupted run are those of this folder", async () => {
    assert.equal(await found("last", place("/srv/shop")), IDS.broken);
    assert.equal(await found(undefined, place("/srv/shop")), IDS.broken);
    assert.equal(await found("last", place("/srv/my bakery")), IDS.elsewhere);
    assert.equal(await found("last", place("/srv/shop", "take")), IDS.broken, "also with --here");
  });

  test("the newest run elsewhere is named with both ways to continue it when this folder has none", async () => {
    assert.equal(
      await found(undefined, place("/srv/empty")),
      `No run of this folder was interrupted. The newest elsewhere is ${IDS.elsewhere} ("Bake."), in /srv/my bakery. Either cd '/srv/my bakery' first, or continue it with the files of this folder: sous resume ${IDS.elsewhere} --here`,
    );
    assert.equal(
      await found("last", place("/srv/empty")),
      `There are no runs of this folder yet. The newest elsewhere is ${IDS.nowhere} ("Float."). To continue it with the files of this folder: sous resume ${IDS.nowhere} --here`,
    );
    assert.equal(await found(undefined, place("/srv/empty", "take")), IDS.elsewhere);
    assert.equal(await found("last", place("/srv/empty", "take")), IDS.nowhere);
  });

  test("an id, or the beginning of one, of another folder is refused unless it is taken", async () => {
    const sentence = `Run ${IDS.done} ("Sell.") belongs to /srv/shop. Either cd /srv/shop first, or continue it with the files of this folder: sous resume ${IDS.done} --here`;
    assert.equal(await found(IDS.done, place("/srv/my bakery")), sentence);
    assert.equal(await found("01k2f8aa", place("/srv/my bakery")), sentence);
    assert.equal(await found(IDS.done, place("/srv/shop/")), sentence, "letter for letter");
    assert.match(
      await found(IDS.child, place("/srv/my bakery")),
      /belongs to \/srv\/shop/,
      "a child is where its tree is",
    );
    assert.equal(await found(IDS.done, place("/srv/my bakery", "take")), IDS.done);
    assert.equal(await found(IDS.child, place("/srv/shop")), IDS.child);
  });

  test("a run that does not say its folder can be named, and never is the last one", async () => {
    assert.equal(await found(IDS.nowhere, place("/srv/shop")), IDS.nowhere);
    assert.equal(await found("last", place("/srv/shop")), IDS.broken);
  });

  test("a run that continues in another folder than its own is told", async () => {
    const notes = [];
    for (const id of [IDS.done, IDS.elsewhere, IDS.nowhere]) {
      const record = await findRun(store, id, place("/srv/shop", "take"));
      notes.push(folderNote(record, { cwd: "/srv/shop" }));
    }
    assert.deepEqual(notes, [
      undefined,
      `Run ${IDS.elsewhere} belongs to /srv/my bakery; it continues with the files of this folder.`,
      `Run ${IDS.nowhere} does not say which folder it belongs to; it continues with the files of this folder.`,
    ]);
  });
});

test("G4: the messages of one conversation are one entry, and the one spoken to last comes first", async () => {
  const store = openMemoryStore();
  const chat = sampleTree("chat", 1000);
  for (const [index, id] of ["chat", "chat-2", "chat-3"].entries()) {
    chat.start(id, { label: "sous", time: 1000 + 1000 * index, details: { cwd: "/srv/shop" } });
    chat.turn(id, "Yes.");
    chat.end(id, { turns: 2, toolCount: 1, costUsd: 0.25, status: index === 2 ? "failed" : "completed" });
  }
  const other = sampleTree("other", 1500);
  other.start("other", { details: { cwd: "/srv/bakery" } });
  for (let child = 0; child < 12; child++) other.start(`child-${child}`, { parent: "other" });
  for (const tree of [chat, other]) await store.append(tree.rootId, tree.events, NO_OWNER);
  const list = async (query: object) => {
    const found = await listConversations(store, { limit: 10, offset: 0, ...query });
    return found.map(({ first, last, messages, turns, toolCount, costUsd, durationMs }) => {
      return [first.id, last.id, last.status, messages, turns, toolCount, costUsd, durationMs];
    });
  };
  const chatRow = ["chat", "chat-3", "failed", 3, 6, 3, 0.75, 9];
  const otherRow = ["other", "other", "interrupted", 1, 0, 0, 0, undefined];
  assert.deepEqual(await list({}), [chatRow, otherRow]);
  assert.deepEqual(await list({ limit: 1 }), [chatRow]);
  assert.deepEqual(await list({ offset: 1 }), [otherRow]);
  assert.deepEqual(await list({ cwd: "/srv/bakery" }), [otherRow]);
  assert.deepEqual(await list({ status: "completed" }), [], "the status is that of the latest message");
  assert.deepEqual(await list({ status: "failed" }), [chatRow]);
});

test("folders are shown short, and typed so that a shell takes them whole", () => {
  assert.deepEqual(
    ["/home/ann/shop", "/home/ann", "/home/anna", "/srv"].map((folder) => shortFolder(folder, "/home/ann")),
    ["~/shop", "~", "/home/anna", "/srv"],
  );
  for (const home of [undefined, "", "ann", "/"]) assert.equal(shortFolder("/srv/shop", home), "/srv/shop");
  assert.equal(shortFolder("/srv\u001b[2J/x\ny", undefined), "/srv/x y");
  assert.deepEqual(["/srv/a-b.c", "", "a b", "a'; rm -rf ~ #", "$(x)"].map(shellWord), [
    "/srv/a-b.c",
    "''",
    "'a b'",
    "'a'\\''; rm -rf ~ #'",
    "'$(x)'",
  ]);
  assert.equal(changeTo("/srv/$(x)"), "cd '/srv/$(x)'");
});

test("G4: a list goes further than one page of the store", async () => {
  const store = openMemoryStore();
  for (let index = 0; index < 450; index++) {
    const id = `run-${index}`;
    const tree = sampleTree(id, 1000 + index);
    tree.start(id);
    tree.end(id);
    await store.append(id, tree.events, NO_OWNER);
  }
  const ids = async (limit: number, offset: number) =>
    (await listConversations(store, { limit, offset })).map(({ last }) => last.id);
  assert.deepEqual(await ids(2, 399), ["run-50", "run-49"]);
  assert.equal(new Set(await ids(1000, 0)).size, 450);
});

test("a folder that cannot be looked at is named as it was given", () => {
  assert.equal(thisFolder("/no/such/folder"), "/no/such/folder");
});

test("a database that cannot even be looked at counts as one that is there, so that opening it says why", () => {
  assert.deepEqual([isThere("x".repeat(5000)), isThere("/no/such/file"), isThere("/")], [true, false, true]);
});
