/** A page that redirects: every host on the way is one that the rules were asked about. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fetchTool } from "../../../src/app/tools/fetch.ts";
import { agent } from "../../../src/core/agent.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { pageServer, testNetwork } from "../../support/attacks/page-server.ts";
import { rulesFrom } from "../../support/runtime/rights/requests.ts";

type Attempt = {
  /** `deny fetch(evil.example.com)` and the like. */
  rules: string[];
  allowHosts?: string[];
  allowsAll?: boolean;
  /** The hosts that the first one leads to, one after the other. */
  way: string[];
  status?: number;
};

type Reached = { hosts: string[]; output: string; questions: number };

/** A real run whose model fetches `page.example.com`; every name leads to the same server. */
async function follow({ rules, allowHosts = [], allowsAll = false, way, status = 302 }: Attempt): Promise<Reached> {
  const hosts: string[] = [];
  await using page = await pageServer((request, response) => {
    const host = (request.headers.host ?? "").replace(/:\d+$/, "");
    const next = way[hosts.length];
    hosts.push(host);
    if (next === undefined) response.writeHead(200, { "content-type": "text/plain" }).end("arrived");
    else response.writeHead(status, { location: next.replaceAll("PORT", String(page.port)) }).end();
  });
  const withPort = (text: string): string => text.replaceAll("PORT", String(page.port));
  const policy = createPolicy({
    rules: rulesFrom(...rules.map(withPort)),
    allowHosts: allowHosts.map(withPort),
    allowsAll,
  });
  let questions = 0;
  const model = scriptedModel({ lead: [[calls("fetch", { url: page.url })], [says("done")]] });
  const tools = [fetchTool({ network: testNetwork(), allowHosts: allowHosts.map(withPort) })];
  const runtime = createRuntime({
    approve: {
      decide: policy.decide,
      ask: () => {
        questions += 1;
        return { allow: true };
      },
    },
  });
  let output = "";
  await runtime.run(agent({ name: "lead", model, tools }), "Look", {
    onEvent: (event) => {
      if (event.type === "tool-call-end") output = event.output;
    },
  });
  return { hosts, output, questions };
}

const PAGE = "page.example.com";
const EVIL = "http://evil.example.com:PORT/";
const DENY = "deny fetch(evil.example.com)";
const ALL_BELOW = ["*.example.com:PORT"];

suite("B5.5: a redirect reaches no host that a rule denies", () => {
  const denied: [form: string, attempt: Attempt][] = [
    ["a host", { rules: [DENY], allowHosts: ALL_BELOW, way: [EVIL] }],
    ["a host in capitals", { rules: [DENY], allowHosts: ALL_BELOW, way: ["http://EVIL.example.COM:PORT/"] }],
    ["a host with a dot behind it", { rules: [DENY], allowHosts: ALL_BELOW, way: ["http://evil.example.com.:PORT/"] }],
    ["an address without a scheme", { rules: [DENY], allowHosts: ALL_BELOW, way: ["//evil.example.com:PORT/"] }],
    ["a coded name", { rules: [DENY], allowHosts: ALL_BELOW, way: ["http://%65vil.example.com:PORT/"] }],
    [
      "the second host on the way",
      { rules: [DENY], allowHosts: ALL_BELOW, way: ["http://docs.example.com:PORT/", EVIL] },
    ],
    [
      "a host below one",
      { rules: ["deny fetch(*.evil.example.com)"], allowsAll: true, way: [EVIL.replace("//", "//a.")] },
    ],
    ["a host when everything else is allowed", { rules: [DENY], allowsAll: true, way: [EVIL] }],
    ["a host when all of fetch is allowed", { rules: [DENY, "allow fetch"], way: [EVIL] }],
    ["a host that another rule allows", { rules: [DENY, "allow fetch(evil.example.com:PORT)"], way: [EVIL] }],
    ...[301, 303, 307, 308].map((status): [string, Attempt] => [
      `a host by ${status}`,
      { rules: [DENY], allowHosts: ALL_BELOW, way: [EVIL], status },
    ]),
  ];
  for (const [form, attempt] of denied) {
    test(`B5.5: a redirect to ${form} that is denied is not followed`, async () => {
      const { hosts, output } = await follow(attempt);
      assert.deepEqual(
        hosts.filter((host) => host.toLowerCase().includes("evil")),
        [],
      );
      assert.match(output, /a rule of the user does not allow: deny fetch\(/);
    });
  }

  test("B5.5: a redirect to a host that a rule asks about is named, and no person is asked in the middle of a call", async () => {
    const { hosts, output, questions } = await follow({
      rules: ["ask fetch(evil.example.com)", "allow fetch(page.example.com:PORT)"],
      allowHosts: ALL_BELOW,
      way: [EVIL],
    });
    assert.deepEqual([hosts, questions], [[PAGE], 0]);
    assert.match(output, /redirects to another host. Call fetch with http:\/\/evil\.example\.com/);
  });

  test("B5.5: approval of one host is none of the host that it leads to", async () => {
    const { hosts, questions } = await follow({ rules: ["deny terminal"], way: [EVIL] });
    assert.deepEqual([hosts, questions], [[PAGE], 1]);
  });

  test("a redirect to a host that a rule allows is followed", async () => {
    const { hosts, output } = await follow({
      rules: ["allow fetch(page.example.com:PORT)", "allow fetch(docs.example.com:PORT)"],
      way: ["http://docs.example.com:PORT/there"],
    });
    assert.deepEqual(hosts, [PAGE, "docs.example.com"]);
    assert.match(output, /arrived$/);
  });
});
