/** Names of tools of MCP servers. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { mayMeanMcpTool, mcpServerPart, mcpToolName, readMcpName } from "../../../src/core/mcp-names.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
const nameOf = (server: string, tool: string): string => mcpToolName(server, tool, hash);

const TEXT = fc.oneof(
  fc.string({ minLength: 1, maxLength: 140 }),
  fc.string({ minLength: 1, maxLength: 140, unit: fc.constantFrom("a", "b", "_", "-", ".", "/", "1") }),
);

test("every name is one that a tool can have, and no name of a tool of ours", () => {
  fc.assert(
    fc.property(TEXT, TEXT, (server, tool) => {
      assert.match(nameOf(server, tool), /^mcp__[A-Za-z0-9_-]{1,59}$/);
    }),
  );
});

test("two tools have the same name only when their servers read the same, and the tool is made to look like a hash", () => {
  // Few letters and short names, so that pairs that look alike come often.
  const short = fc.string({ minLength: 1, maxLength: 5, unit: fc.constantFrom("a", "_", "__", ".", "/") });
  fc.assert(
    fc.property(fc.array(fc.tuple(short, short), { minLength: 50, maxLength: 200 }), (pairs) => {
      const owners = new Map<string, string>();
      for (const [server, tool] of pairs) {
        const owner = JSON.stringify([mcpServerPart(server), tool]);
        assert.equal(owners.get(nameOf(server, tool)) ?? owner, owner);
        owners.set(nameOf(server, tool), owner);
      }
    }),
  );
  const one = nameOf("a", "b.c");
  assert.equal(nameOf("a", one.slice("mcp__a__".length)), one);
});

test("a name is read back as its server and the tool it begins with", () => {
  fc.assert(
    fc.property(TEXT, TEXT, (server, tool) => {
      const read = readMcpName(nameOf(server, tool));
      assert.equal(read?.server, mcpServerPart(server));
      assert.equal(`mcp__${read?.server}__${read?.tool}`, nameOf(server, tool));
    }),
  );
});

test("B5.3: what forbids a tool by the names of its settings and its server, in any case, means it, and so does its server alone", () => {
  // `*` and `?` are patterns there.
  const plain = TEXT.filter((text) => !/[*?]/.test(text));
  fc.assert(
    fc.property(plain, plain, (server, tool) => {
      const name = nameOf(server, tool);
      const written = `mcp__${server}__${tool}`;
      for (const each of [name, written, written.toUpperCase(), written.replaceAll("-", "_"), `mcp__${server}`])
        assert.equal(mayMeanMcpTool(each, name), true, each);
    }),
  );
});

const OTHERS: [pattern: string, name: string][] = [
  ["mcp__github__get", "mcp__github__get_issue"],
  ["mcp__git", "mcp__github__get_issue"],
  ["mcp__github__delete_*", "mcp__github__get_issue"],
  ["mcp__github__x", nameOf("github", "y.z")],
  ["mcp__github__a*", nameOf("github", "b".repeat(70))],
  ["mcp__*__read_file", "read_file"],
  ["read_file", "mcp__github__read_file"],
];
for (const [pattern, name] of OTHERS) {
  test(`what forbids ${pattern} does not mean ${name}`, () => assert.equal(mayMeanMcpTool(pattern, name), false));
}

const PAIRS: [string, string, string, string][] = [
  ["a", "b__c", "a__b", "c"],
  ["a", "_b", "a_", "b"],
  ["a", "__b", "a__", "b"],
  ["a_", "_b", "a", "__b"],
  ["a", "b.c", "a", "b/c"],
  ["a", "b.c", "a", "b_c"],
  ["a", "x".repeat(125), "a", `${"x".repeat(124)}y`],
  ["a", "A", "a", "a"],
];
for (const [server, tool, otherServer, otherTool] of PAIRS) {
  test(`${server} with ${tool} is not ${otherServer} with ${otherTool}`, () => {
    assert.notEqual(nameOf(server, tool), nameOf(otherServer, otherTool));
  });
}
