/** Owners: which process a line of text names, and whether that process can still be there. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { test } from "node:test";
import { describeOwner, isGone, newOwner } from "../../../../src/storage/store/owner.ts";

test("this process is there, and each of its stores is another owner", () => {
  const [one, other] = [newOwner(), newOwner()];
  assert.notEqual(one, other);
  assert.equal(isGone(one), false);
  assert.equal(describeOwner(one), "this process");
});

test("a process that has ended is gone at once", async () => {
  const url = new URL("../../../../src/storage/store/owner.ts", import.meta.url).href;
  const script = `const { newOwner } = await import(${JSON.stringify(url)}); process.stdout.write(newOwner()); process.stdin.resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [owner] = await once(child.stdout.setEncoding("utf8"), "data");
  assert.equal(isGone(owner), false);
  assert.equal(describeOwner(owner), `process ${child.pid} on ${hostname()}`);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal(isGone(owner), true);
});

test("a process with the number of one that has ended is another", () => {
  const parts = newOwner().split(" ");
  assert.equal(isGone(parts.with(3, "1").join(" ")), true);
});

test("nothing is certain of an owner on another host, of one from before a restart of the machine, or of nonsense", () => {
  const parts = newOwner()
    .split(" ")
    .with(2, String(2 ** 22 + 1));
  assert.equal(isGone(parts.join(" ")), true);
  for (const owner of [
    parts.with(0, "elsewhere").join(" "),
    parts.with(1, "earlier").join(" "),
    parts.with(2, "x").join(" "),
    "",
    "%zz",
  ])
    assert.equal(isGone(owner), false, owner);
  assert.equal(describeOwner("else%00where%1b[2J b 7 s r"), "process 7 on else?where??2J");
  assert.equal(describeOwner("nonsense"), "another process");
});
