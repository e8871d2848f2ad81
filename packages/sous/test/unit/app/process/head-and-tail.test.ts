/** Output within its bounds: whatever the pieces are, the same head and tail come out, well-formed. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { HeadAndTail } from "../../../../src/app/process/output.ts";

suite("B3.1: output is kept within its bounds", () => {
  test("output is there as a whole while it fits, and has head and tail with a count when it does not", () => {
    const kept = new HeadAndTail(10);
    kept.add(Buffer.from("0123456789"));
    assert.deepEqual(kept.read(), { head: "0123456789", tail: "", droppedBytes: 0 });
    kept.add(Buffer.from("abc"));
    assert.deepEqual(kept.read(), { head: "01234", tail: "89abc", droppedBytes: 3 });
  });

  test("a character that lies across a cut is dropped as a whole", () => {
    const kept = new HeadAndTail(10);
    kept.add(Buffer.from("012🙂45678901🙂89"));
    const { head, tail, droppedBytes } = kept.read();
    assert.deepEqual([head, tail], ["012", "89"]);
    assert.equal(droppedBytes, Buffer.byteLength("🙂45678901🙂"));
  });

  test("output has the same head and tail however it is cut into pieces, and whatever the bytes are", () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 64 }), (chunks, maxBytes) => {
        const all = Buffer.concat(chunks);
        const inPieces = new HeadAndTail(maxBytes);
        for (const chunk of chunks) inPieces.add(Buffer.from(chunk));
        const atOnce = new HeadAndTail(maxBytes);
        atOnce.add(all);
        const { head, tail, droppedBytes } = inPieces.read();
        assert.deepEqual(atOnce.read(), { head, tail, droppedBytes });
        assert.ok(head.isWellFormed() && tail.isWellFormed());
        assert.equal(inPieces.bytes, all.length);
        const half = Math.ceil(maxBytes / 2);
        if (all.length <= 2 * half)
          assert.deepEqual([head, droppedBytes], [new TextDecoder("utf-8", { ignoreBOM: true }).decode(all), 0]);
        else assert.ok(droppedBytes >= all.length - 2 * half && droppedBytes <= all.length - 2 * half + 6);
      }),
    );
  });
});
