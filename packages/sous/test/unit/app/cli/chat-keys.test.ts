import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { editorLines } from "../../../../src/app/cli/chat/chat-view.ts";
import { type Editor, edit, emptyEditor, submitted } from "../../../../src/app/cli/chat/editor.ts";
import { type Key, KeyDecoder, type KeyName } from "../../../../src/app/cli/chat/keys.ts";
import { PromptLine } from "../../../../src/app/cli/chat/prompt-line.ts";
import { displayWidth } from "../../../../src/app/cli/terminal/text.ts";

const key = (name: KeyName): Key => ({ type: "key", name });
const text = (typed: string): Key => ({ type: "text", text: typed });

/** Keys in short: text as it is, others by name. */
function decoded(...chunks: readonly (string | Uint8Array)[]): string[] {
  const decoder = new KeyDecoder();
  const keys = chunks.flatMap((chunk) => decoder.feed(Buffer.from(chunk)));
  return [...keys, ...decoder.flush()].map((each) =>
    each.type === "key" ? `<${each.name}>` : each.type === "paste" ? `paste:${each.text}` : each.text,
  );
}

suite("the keys of a terminal", () => {
  test("text, control keys, arrows and Alt are told apart", () => {
    assert.deepEqual(decoded("ab\r"), ["ab", "<enter>"]);
    assert.deepEqual(decoded("\n\u001b\r\u007f\u0001\u0005\u000b\u0015\u0017\u0019\u0003\u0004\u000f\u001a\t"), [
      "<new-line>",
      "<new-line>",
      "<backspace>",
      "<home>",
      "<end>",
      "<kill-to-end>",
      "<kill-to-start>",
      "<kill-word-left>",
      "<yank>",
      "<interrupt>",
      "<end-of-input>",
      "<expand>",
      "<suspend>",
      "<tab>",
    ]);
    assert.deepEqual(decoded("\u001b[A\u001bOB\u001b[1;5C\u001b[3~\u001bb\u001bf"), [
      "<up>",
      "<down>",
      "<word-right>",
      "<delete>",
      "<word-left>",
      "<word-right>",
    ]);
  });

  test("whatever is split between reads comes out whole", () => {
    const bytes = Buffer.from("é漢👩‍🚀\u001b[A\u001b[1;5D\u001b[200~one\rtwo\u001b[201~z");
    const whole = decoded(bytes);
    assert.deepEqual(whole.slice(-4), ["<up>", "<word-left>", "paste:one\rtwo", "z"]);
    for (let at = 1; at < bytes.length; at++) {
      assert.equal(decoded(bytes.subarray(0, at), bytes.subarray(at)).join(""), whole.join(""), `split at ${at}`);
    }
    assert.equal(decoded(...Array.from(bytes, (byte) => Uint8Array.of(byte))).join(""), whole.join(""));
  });

  test("a paste is one insertion, however large and whatever is in it", () => {
    const pasted = "x\u0003\u001b[A\r".repeat(200_000);
    const decoder = new KeyDecoder();
    const keys: Key[] = [];
    const bytes = Buffer.from(`\u001b[200~${pasted}\u001b[201~`);
    for (let at = 0; at < bytes.length; at += 65_536) keys.push(...decoder.feed(bytes.subarray(at, at + 65_536)));
    assert.deepEqual(keys, [{ type: "paste", text: pasted }]);
  });

  test("an escape byte alone is a key; half a sequence and an unknown one are ignored", () => {
    assert.deepEqual(decoded("\u001b"), ["<escape>"]);
    assert.deepEqual(decoded("\u001b[1;"), []);
    assert.deepEqual(decoded("\u001b[38;5;1mred\u001b]0;title"), ["red", "0;title"]);
    assert.deepEqual(decoded(`\u001b[${"1".repeat(100)}`, "A"), ["1".repeat(100), "A"]);
  });
});

/** What is left after these keys: the text with a bar where the cursor is. */
function after(start: Editor, ...keys: readonly Key[]): string {
  const { text: left, cursor } = keys.reduce((editor, each) => edit(editor, each) ?? editor, start);
  return `${left.slice(0, cursor)}|${left.slice(cursor)}`;
}

suite("the line that is typed", () => {
  const start = edit(emptyEditor(), text("one two 漢字")) ?? emptyEditor();

  test("the typed line is moved in and cut by words, to its ends and by what people see as a character", () => {
    assert.equal(after(start, key("left")), "one two 漢|字");
    assert.equal(after(start, key("home"), key("right")), "o|ne two 漢字");
    assert.equal(after(start, key("home"), key("word-right")), "one| two 漢字");
    assert.equal(after(start, key("word-left"), key("word-left")), "one |two 漢字");
    assert.equal(after(start, key("kill-word-left")), "one two |");
    assert.equal(after(start, key("kill-to-start")), "|");
    assert.equal(after(start, key("home"), key("kill-to-end"), key("yank"), key("yank")), "one two 漢字one two 漢字|");
    assert.equal(after(emptyEditor(), text("a👩‍🚀e\u0301"), key("backspace"), key("backspace")), "a|");
    assert.equal(after(emptyEditor(), text("a👩‍🚀b"), key("home"), key("delete"), key("delete")), "|b");
  });

  test("the typed line may have several lines, between which the arrows move", () => {
    const lines = [text("first"), key("new-line"), text("second"), key("new-line"), text("x")];
    assert.equal(after(emptyEditor(), ...lines, key("up")), "first\ns|econd\nx");
    assert.equal(after(emptyEditor(), ...lines, key("up"), key("end"), key("up")), "first|\nsecond\nx");
    assert.equal(after(emptyEditor(), ...lines, key("up"), key("up"), key("down")), "first\ns|econd\nx");
    assert.equal(after(emptyEditor(), ...lines, key("up"), key("home"), key("kill-to-start")), "first\n|second\nx");
    const gap = [text("first"), key("new-line"), key("new-line"), text("x")];
    assert.equal(after(emptyEditor(), ...gap, key("up")), "first\n|\nx");
    assert.equal(after(emptyEditor(), ...gap, key("up"), key("up")), "|first\n\nx");
    assert.equal(after(emptyEditor(), ...gap, key("up"), key("down")), "first\n\n|x");
  });

  test("the typed line drops control characters of a paste, and keeps its lines and tabs", () => {
    assert.equal(after(emptyEditor(), { type: "paste", text: "a\r\n\tb\u001b[2J\u0000\u009bc" }), "a\n\tb[2Jc|");
  });

  test("the arrows go back to earlier lines and forward to what was being typed", () => {
    const used = submitted(edit(submitted(edit(emptyEditor(), text("older")) ?? start), text("newer")) ?? start);
    assert.equal(after(used, text("dra"), key("up")), "newer|");
    assert.equal(after(used, text("dra"), key("up"), key("up"), key("up")), "older|");
    assert.equal(after(used, text("dra"), key("up"), key("up"), key("down"), key("down")), "dra|");
    assert.deepEqual(submitted(edit(used, text("newer")) ?? used).history, ["older", "newer"]);
  });

  test("a backslash at its end asks for another line; a line for a child gives the first one back", () => {
    const line = new PromptLine([]);
    for (const each of [text("half\\")]) line.type(each);
    assert.equal(line.enter(), undefined);
    assert.equal(line.editor.text, "half\n");
    line.take({ kind: "steer", path: "sous/scout" });
    assert.equal(line.editor.text, "");
    line.type(text("hurry"));
    assert.deepEqual(line.enter(), { text: "hurry", purpose: { kind: "steer", path: "sous/scout" } });
    assert.equal(line.editor.text, "half\n");
    line.type(text("whole"));
    assert.deepEqual(line.enter(), { text: "half\nwhole", purpose: undefined });
    assert.equal(line.editor.text, "");
  });
});

suite("the line on the screen", () => {
  const view = { prompt: "> ", columns: 20, maxLines: 4 };

  test("the line on the screen is wrapped, and the cursor is where the next character goes", () => {
    assert.deepEqual(editorLines({ text: "hello", cursor: 5 }, view), {
      lines: ["> hello"],
      cursor: { row: 0, column: 7 },
    });
    assert.deepEqual(editorLines({ text: "漢".repeat(10), cursor: 10 }, view), {
      lines: [`> ${"漢".repeat(9)}`, "  漢"],
      cursor: { row: 1, column: 4 },
    });
    assert.deepEqual(editorLines({ text: "a".repeat(18), cursor: 18 }, view).cursor, { row: 1, column: 2 });
    assert.deepEqual(editorLines({ text: "one\n\ttwo", cursor: 5 }, view), {
      lines: ["> one", "      two"],
      cursor: { row: 1, column: 6 },
    });
  });

  test("the line on the screen never takes more lines or columns than it may, and always shows the cursor", () => {
    const long = `${"word 漢字 ".repeat(3)}\n`.repeat(30) + "x".repeat(50_000);
    for (let cursor = 0; cursor <= long.length; cursor += 997) {
      const { lines, cursor: at } = editorLines({ text: long, cursor }, view);
      assert.ok(lines.length <= view.maxLines);
      assert.ok(at.row >= 0 && at.row < lines.length, `cursor ${cursor} is in row ${at.row}`);
      assert.ok(at.column < view.columns);
      for (const line of lines) assert.ok(displayWidth(line) <= view.columns, line);
    }
  });
});
