/** The conformance suite of the protocol against `sous run`. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Look } from "../external/look.ts";
import { peerFile } from "../external/peers.ts";

const CLIENT = join(import.meta.dirname, "conformance-client.ts");
const SUITE = peerFile("@modelcontextprotocol/conformance/dist/index.js");
const LONGEST_MS = 60_000;

const PASSED = ["initialize", "tools_call", "sse-retry"] as const;

/** Scenarios for clients that sous is not tried with, and why. */
const REASONS: readonly { readonly matches: (scenario: string) => boolean; readonly why: string }[] = [
  { matches: (name) => name.startsWith("auth/"), why: "needs OAuth, which sous does not have: headers of the entry" },
  {
    matches: (name) => name.startsWith("elicitation-"),
    why: "sous does not offer elicitation: a server cannot ask the person",
  },
];

export async function lookAtConformance(look: Look): Promise<void> {
  for (const scenario of PASSED) await look.during(`conformance ${scenario}`, () => passes(look, scenario));
  await look.during("conformance: the other scenarios", () => lookAtOthers(look));
}

async function passes(look: Look, scenario: string): Promise<void> {
  const command = `${process.execPath} --conditions=sous-source ${CLIENT}`;
  const { code, output } = await suite("client", "--command", command, "--scenario", scenario);
  const [counted = "no result"] = /Passed: .*/.exec(output) ?? [];
  look.at(`conformance: ${scenario} (${counted})`, code === 0 && output.includes("OVERALL: PASSED"), output);
}

/** Every other scenario of the suite has a reason, so a new one in a newer suite is noticed. */
async function lookAtOthers(look: Look): Promise<void> {
  const { output } = await suite("list");
  const [, ofClients = ""] = output.split("Client scenarios");
  const names = [...ofClients.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
  const others = names.filter((name) => !PASSED.some((passed) => passed === name));
  for (const { matches, why } of REASONS) {
    const those = others.filter(matches);
    console.log(`NOT TRIED  conformance: ${those.length} scenarios (${those.join(", ")}): ${why}`);
  }
  const unknown = others.filter((name) => !REASONS.some(({ matches }) => matches(name)));
  look.at("conformance: each other scenario has a reason", names.length > PASSED.length && unknown.length === 0, [
    names.length,
    unknown,
  ]);
}

async function suite(...parameters: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [SUITE, ...parameters], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, output };
}
