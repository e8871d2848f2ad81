// biome-ignore-all lint/suspicious/noTemplateCurlyInString: files of servers have them.
/** Forms that files of MCP servers have in public repositories, and in the documentation of other programs. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { after, suite, test } from "node:test";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { reviewProject } from "../../../../src/app/config/trust/review.ts";
import { ConfigurationFolder, type Given } from "../../../support/app/config/configuration-files.ts";

const folder = new ConfigurationFolder();
after(() => folder[Symbol.dispose]());

/** What is started or reached, by name, and what is said about the files. */
async function read(given: Given) {
  const { configuration, warnings } = await folder.load(given);
  const servers = Object.values(configuration.mcpServers).map(({ name, transport }) => [name, transport] as const);
  return { servers: Object.fromEntries(servers), all: configuration.mcpServers, warnings };
}

suite("B4.3: real files", () => {
  test("servers may stand at the top, as in plugins of Claude Code, and trust shows them", async () => {
    const mcp = JSON.stringify({
      play: { command: "npx", args: ["play"] },
      far: { type: "http", url: "https://a.example" },
    });
    const { servers, all, warnings } = await read({ mcp });
    assert.deepEqual(Object.keys(servers), ["play", "far"]);
    assert.deepEqual([all.play?.origin, warnings], [".mcp.json:1", []]);
    using inner = new ConfigurationFolder();
    writeFileSync(inner.file(".mcp.json"), mcp);
    const shown = reviewProject(await readProject(inner.path)).servers;
    assert.deepEqual(
      shown.map(({ name, runs }) => [name, runs]),
      [
        ["play", ["npx", "play"]],
        ["far", ["https://a.example"]],
      ],
    );
  });

  test("an object at the top that is no server makes the file one without servers", async () => {
    const { servers, warnings } = await read({ mcp: '{"play":{"command":"x"},"other":{"a":1}}' });
    assert.deepEqual(servers, {});
    assert.deepEqual(warnings, [
      ".mcp.json: none of its servers is used: it must have servers by name below mcpServers",
    ]);
  });

  test("texts for people are no settings, so nothing is said about them", async () => {
    const about = {
      description: "Does.",
      name: "One",
      title: "One",
      version: "1",
      gallery: true,
      _note: "x",
      $comment: "y",
    };
    const { warnings } = await read({
      user: `mcp_servers: ${JSON.stringify({ mine: { command: "x", description: "Mine." } })}\n`,
      mcp: JSON.stringify({ mcpServers: { one: { command: "x", ...about, autoApprove: [] } } }),
    });
    assert.deepEqual(warnings, [".mcp.json: autoApprove: no effect in sous"]);
  });

  test("transport and transportType are other words for type", async () => {
    const url = "https://a.example/sse";
    const { servers, warnings } = await read({
      mcp: JSON.stringify({
        mcpServers: {
          a: { transport: "sse", url },
          b: { transportType: "stdio", command: "x" },
          c: { transport: "streamable-http", url },
        },
      }),
    });
    assert.deepEqual([servers.a?.type, servers.b?.type, servers.c?.type, warnings], ["sse", "stdio", "http", []]);
  });

  test("an address that is still to be filled in is said to be empty", async () => {
    const { warnings } = await read({ mcp: '{"mcpServers":{"mail":{"type":"http","url":""}}}' });
    assert.deepEqual(warnings, [
      ".mcp.json:1: the MCP server mail is not used: mail.url must not be empty; give a text",
    ]);
  });

  test("the times of codex are seconds, whatever their size, and http_headers are headers", async () => {
    const entry = {
      url: "https://a.example",
      startup_timeout_sec: 20,
      tool_timeout_sec: 1800,
      http_headers: { A: "b" },
    };
    const { all, warnings } = await read({ user: `mcp_servers: ${JSON.stringify({ one: entry })}\n` });
    assert.deepEqual([all.one?.startTimeoutMs, all.one?.callTimeoutMs, warnings], [20_000, 1_800_000, []]);
    assert.deepEqual(all.one?.transport, { type: "http", url: "https://a.example", headers: { A: "b" } });
  });
});

suite("B4.3: variables of other programs", () => {
  const env = { TOKEN: "t-123", HOME: "/home/ada" };
  const FORMS: [text: string, users: () => string][] = [
    ["${CLAUDE_PROJECT_DIR}/a", () => `${folder.path}/a`],
    ["${CLAUDE_PROJECT_DIR:-.}/a", () => `${folder.path}/a`],
    ["${workspaceFolderBasename}", () => basename(folder.path)],
    ["a${/}b${pathSeparator}c", () => "a/b/c"],
  ];
  for (const [text, expected] of FORMS) {
    test(`${text} is filled in for the user and for a project`, async () => {
      const entry = { s: { command: "x", args: [text] } };
      for (const given of [
        { user: `mcp_servers: ${JSON.stringify(entry)}\n` },
        { mcp: JSON.stringify({ mcpServers: entry }) },
      ]) {
        const { servers, warnings } = await read({ ...given, env });
        assert.ok(servers.s?.type === "stdio");
        assert.deepEqual([servers.s.args, warnings], [[expected()], []]);
      }
    });
  }

  test("{env:NAME} of opencode and $NAME of gemini-cli stand for variables, $NAME only where it is the whole value", async () => {
    const entry = {
      command: "x",
      args: ["{env:TOKEN}", "$TOKEN"],
      env: { A: "{env:TOKEN}", B: "$TOKEN", C: "pa$TOKEN", D: "$5" },
    };
    const far = { url: "https://a.example", headers: { A: "Bearer $TOKEN", B: "cost $TOKEN now" } };
    const { servers } = await read({ user: `mcp_servers: ${JSON.stringify({ entry, far })}\n`, env });
    assert.ok(servers.entry?.type === "stdio" && servers.far?.type === "http");
    assert.deepEqual(servers.entry.args, ["t-123", "$TOKEN"]);
    assert.deepEqual(servers.entry.env, { A: "t-123", B: "t-123", C: "pa$TOKEN", D: "$5" });
    assert.deepEqual(servers.far.headers, { A: "Bearer t-123", B: "cost $TOKEN now" });
  });

  test("a project gets none of them that is not listed, and trust names them", async () => {
    const headers = { A: "Bearer $TOKEN", B: "{env:OTHER}" };
    const mcp = JSON.stringify({ mcpServers: { far: { url: "https://evil.example", headers } } });
    const { all, warnings } = await read({ mcp, env });
    assert.ok(!JSON.stringify([all, warnings]).includes("t-123"));
    assert.match(warnings.join("\n"), /the MCP server far is not started: a project gets the variable TOKEN only when/);
    using inner = new ConfigurationFolder();
    writeFileSync(inner.file(".mcp.json"), mcp);
    const [shown] = reviewProject(await readProject(inner.path)).servers;
    assert.deepEqual(shown?.variables, ["OTHER", "TOKEN"]);
  });
});
