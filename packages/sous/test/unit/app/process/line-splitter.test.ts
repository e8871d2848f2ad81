/** Bytes of a program cut into lines, wherever the chunks end. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { LineSplitter } from "../../../../src/app/process/line-reader.ts";

function split(maxLineBytes: number, ...chunks: (string | Buffer)[]): { lines: string[]; dropped: number } {
  const splitter = new LineSplitter(maxLineBytes);
  const lines = chunks.flatMap((chunk) => splitter.split(Buffer.from(chunk as string)));
  return { lines, dropped: splitter.dropped };
}

suite("Line splitter", () => {
  test("lines are the same wherever the chunks are cut", () => {
    const bytes = Buffer.from("one\r\n\ngrüße 🍳\n\r\n\r\r\nlast\n");
    const whole = split(100, bytes).lines;
    assert.deepEqual(whole, ["one", "", "grüße 🍳", "", "\r", "last"]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      assert.deepEqual(split(100, bytes.subarray(0, cut), bytes.subarray(cut)).lines, whole, `cut at ${cut}`);
    }
    assert.deepEqual(split(100, ...[...bytes].map((byte) => Buffer.of(byte))).lines, whole);
  });

  test("a line may have exactly the allowed bytes, whatever its end is, and not one more", () => {
    assert.deepEqual(split(4, "1234\n1234\r\n"), { lines: ["1234", "1234"], dropped: 0 });
    assert.deepEqual(split(4, "12345\nnext\n"), { lines: ["next"], dropped: 1 });
    assert.deepEqual(split(4, "12345\r\nnext\n"), { lines: ["next"], dropped: 1 });
    assert.deepEqual(split(4, "éé\nééé\n"), { lines: ["éé"], dropped: 1 });
    assert.deepEqual(split(4, "123", "45", "67", "89\n", "next\n"), { lines: ["next"], dropped: 1 });
  });

  test("each line that is too long is counted once, also when its end never comes", () => {
    assert.deepEqual(split(4, "123456\n123456\nok\n12", "3456789", "0123"), { lines: ["ok"], dropped: 3 });
  });

  test("a last line without an end is left out, and not counted as too long", () => {
    assert.deepEqual(split(4, "ok\nhalf"), { lines: ["ok"], dropped: 0 });
  });

  test("bytes that are no text become replacement characters, and the next line is whole", () => {
    assert.deepEqual(split(100, Buffer.from([0xc3, 0x0a, 0xff, 0x0a, 0x61, 0x0a])).lines, ["�", "�", "a"]);
  });

  test("a byte order mark stays, so that what was sent is what is read", () => {
    assert.deepEqual(split(100, "\ufeff{}\n").lines, ["\ufeff{}"]);
  });
});
