/** The MCP servers of an editor: which are used, and what is said of the others. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { editorServers } from "../../../../src/bridges/acp/editor-servers.ts";

const FILES = { name: "files", command: "/usr/bin/files", args: ["--root", "."], env: [{ name: "KEY", value: "1" }] };

suite("the MCP servers of an editor", () => {
  test("servers of an editor are read as those of the person's own configuration", () => {
    const headers = [{ name: "Authorization", value: "Bearer x" }];
    const { servers, problems } = editorServers([
      FILES,
      { type: "http", name: "My Issues", url: "https://issues.example/mcp", headers },
      { type: "sse", name: "old", url: "http://127.0.0.1:4000/sse", headers: [] },
    ]);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      servers.map(({ name, transport }) => ({ name, ...transport })),
      [
        { name: "files", type: "stdio", command: FILES.command, args: FILES.args, env: { KEY: "1" }, cwd: undefined },
        { name: "My Issues", type: "http", url: "https://issues.example/mcp", headers: { Authorization: "Bearer x" } },
        { name: "old", type: "sse", url: "http://127.0.0.1:4000/sse", headers: {} },
      ],
    );
    for (const { scope, isDisabled, startTimeoutMs, callTimeoutMs } of servers)
      assert.deepEqual([scope, isDisabled, startTimeoutMs, callTimeoutMs], ["user", false, 30_000, 120_000]);
  });

  test("wrong servers of an editor are left out one by one, each with a reason", () => {
    const wrong: readonly [given: unknown, words: RegExp][] = [
      [7, /^An MCP server of the editor is not used: /],
      [{ ...FILES, name: "" }, /^An MCP server of the editor is not used: its name is empty/],
      [
        { ...FILES, name: "a\u001b[2J" },
        /^An MCP server of the editor is not used: its name is empty, or has characters/,
      ],
      [{ ...FILES, command: "" }, /^The MCP server "files" of the editor is not used: it has no command \(command\)/],
      [{ ...FILES, command: 7 }, /\(command\)/],
      [{ ...FILES, args: ["a\0b"] }, /zero byte \(args\.0\)/],
      [{ ...FILES, env: [{ name: "A=B", value: "" }] }, /variable is not one \(env\.0\.name\)/],
      [{ ...FILES, type: "acp" }, /reached in a way that sous does not know/],
      [{ type: "http", name: "web", url: "ftp://x.example/", headers: [] }, /its address is not one of http or https/],
      [{ type: "http", name: "web", url: "https://me:secret@x.example/" }, /name and password in it/],
      [{ type: "sse", name: "web", url: "nonsense" }, /its address is not one/],
      [
        { type: "http", name: "web", url: "https://x.example/", headers: [{ name: "A", value: "1\r\nHost: y" }] },
        /a header has characters/,
      ],
    ];
    for (const [given, words] of wrong) {
      const { servers, problems } = editorServers([given]);
      assert.deepEqual(servers, []);
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? "", words);
      assert.doesNotMatch(problems[0] ?? "", /secret|Host/);
    }
  });

  test("servers of an editor have names that tools can tell apart, and their number is bounded", () => {
    const twice = editorServers([FILES, { ...FILES, name: "my files" }, { ...FILES, name: "my_files" }]);
    assert.deepEqual(
      twice.servers.map(({ name }) => name),
      ["files", "my files"],
    );
    assert.match(twice.problems[0] ?? "", /"my_files" of the editor is not used: another one has this name/);
    const many = editorServers(Array.from({ length: 60 }, (_, index) => ({ ...FILES, name: `s${index}` })));
    assert.equal(many.servers.length, 50);
    assert.deepEqual(many.problems, ["The editor names 60 MCP servers: only the first 50 are used"]);
  });
});
