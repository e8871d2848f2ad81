/** sous in projects that have other packages already: npm has nothing to say, the others stay as they are, and both work. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startPostgresServer } from "../../packages/sous/test/support/storage/store/postgres-server.ts";
import type { Look } from "../external/look.ts";
import { Project } from "./project.ts";
import { type PackageName, pinned } from "./versions.ts";

/** What `programs/tree.mjs` answers. */
export const TREE: string = JSON.stringify({ text: "Done.", agents: ["lead completed", "lead/scout completed"] });
const SPANS = JSON.stringify(["chat model", "invoke_agent lead"]);
/** What the model of `sous acp serve` says in programs. */
export const SCRIPT: string = JSON.stringify({ sous: [{ text: "Served." }] });

/** Those whose declarations need no package of others. */
const DOORS = ["", "/acp", "/embed", "/mcp", "/postgres", "/replay", "/sqlite", "/store", "/testing", "/tools"];

/** Looks at what works with the packages, in a project that has them and sous. */
type Works = (project: Project, look: Look, where: string) => Promise<void>;

type Neighbours = { readonly packages: readonly PackageName[]; readonly works?: Works };

const NEIGHBOURS: readonly Neighbours[] = [
  { packages: [] },
  { packages: ["@opentelemetry/sdk-trace-node", "@opentelemetry/api"], works: spansOfTraceNode },
  { packages: ["@opentelemetry/sdk-node", "@opentelemetry/api"], works: spansOfSdkNode },
  { packages: ["@vercel/otel", "@opentelemetry/api", "@opentelemetry/sdk-trace-base"], works: spansOfVercel },
  { packages: ["pg"], works: storeInPostgres },
  { packages: ["@agentclientprotocol/sdk"], works: serveAcp },
  { packages: ["@modelcontextprotocol/sdk"] },
  { packages: ["inngest"] },
  { packages: ["@azure/monitor-opentelemetry"] },
  { packages: ["@traceloop/node-server-sdk"] },
  { packages: ["zod"], works: haveOneZod },
];

export async function lookAtNeighbours(look: Look, tarball: string): Promise<void> {
  for (const each of NEIGHBOURS) {
    const where = `install beside ${each.packages.map(pinned).join(", ") || "nothing"}`;
    await look.during(where, () => lookBeside(look, where, each, tarball));
  }
  await look.during("install: sous first", () => sousFirst(look, tarball));
}

async function lookBeside(look: Look, where: string, { packages, works }: Neighbours, tarball: string): Promise<void> {
  using project = new Project();
  if (packages.length > 0) await project.install(...packages);
  const wrong = await project.add(tarball);
  look.at(`${where}: npm warns of nothing and changes no other package`, wrong.length === 0, wrong);
  await runBoth(look, where, project);
  await works?.(project, look, where);
}

async function sousFirst(look: Look, tarball: string): Promise<void> {
  using project = new Project();
  await project.add(tarball);
  const name = "@opentelemetry/sdk-trace-node";
  const wrong = await project.add(pinned(name));
  look.at(`install: sous first, then ${pinned(name)}: npm warns of nothing`, wrong.length === 0, wrong);
  await runBoth(look, "install: sous first", project);
  await spansOfTraceNode(project, look, "install: sous first");
}

/** As a module and by `require`. */
async function runBoth(look: Look, where: string, project: Project): Promise<void> {
  project.take("tree.mjs", "print-tree.mjs", "require.cjs");
  const imported = (await project.node("print-tree.mjs")).output;
  const required = (await project.node("require.cjs")).output;
  const isBoth = imported.trim() === TREE && required.trim() === "Required.";
  look.at(`${where}: import runs a tree, require an agent`, isBoth, [imported, required]);
}

async function spansOfTraceNode(project: Project, look: Look, where: string): Promise<void> {
  project.take("spans-trace-node.mjs");
  const { output } = await project.node("spans-trace-node.mjs");
  look.at(`${where}: traceRuns makes spans with its provider`, output.trim() === SPANS, output);
}

async function spansOfSdkNode(project: Project, look: Look, where: string): Promise<void> {
  const start = "new NodeSDK({ spanProcessors, instrumentations: [] }).start()";
  await spansOfGlobal(project, look, where, `import { NodeSDK } from "@opentelemetry/sdk-node"`, start);
}

async function spansOfVercel(project: Project, look: Look, where: string): Promise<void> {
  const start = `registerOTel({ serviceName: "project", spanProcessors, instrumentations: [] })`;
  await spansOfGlobal(project, look, where, `import { registerOTel } from "@vercel/otel"`, start);
}

async function spansOfGlobal(project: Project, look: Look, where: string, load: string, start: string): Promise<void> {
  project.take("spans-global.mjs");
  project.write("register.mjs", `${load};\nexport const start = (spanProcessors) => ${start};\n`);
  const { output } = await project.node("spans-global.mjs", [], {
    OTEL_METRICS_EXPORTER: "none",
    OTEL_LOGS_EXPORTER: "none",
  });
  look.at(`${where}: traceRuns makes spans with the provider that it registers`, output.trim() === SPANS, output);
}

async function storeInPostgres(project: Project, look: Look, where: string): Promise<void> {
  await using server = await startPostgresServer();
  project.take("postgres.mjs");
  const { output } = await project.node("postgres.mjs", [], { DATABASE_URL: server.connectionString() });
  look.at(`${where}: sous/postgres stores a run with it`, output.trim() === `[true,"completed"]`, output);
}

async function serveAcp(project: Project, look: Look, where: string): Promise<void> {
  project.take("acp.mjs");
  project.write("script.json", SCRIPT);
  const { output } = await project.node("acp.mjs");
  look.at(`${where}: both SDKs work, sous/acp with its own`, output.trim() === `[1,"Served."]`, output);
}

async function haveOneZod(project: Project, look: Look, where: string): Promise<void> {
  const all = readdirSync(join(project.folder, "node_modules"), { recursive: true, encoding: "utf8" });
  const copies = all.filter((path) => /(^|node_modules\/)zod\/package\.json$/.test(path));
  look.at(`${where}: there is one zod`, copies.length === 1, copies);
  await project.install("typescript", "@types/node");
  project.write("doors.ts", DOORS.map((door) => `import "sous${door}";\n`).join(""));
  const flags = ["--strict", "--noEmit", "--target", "esnext", "--module", "nodenext", "--types", "node"];
  const { output } = await project.node("node_modules/typescript/bin/tsc", ["doors.ts", ...flags]);
  look.at(`${where}: every declaration of sous type-checks`, !output.includes("node_modules/sous/"), output);
}
