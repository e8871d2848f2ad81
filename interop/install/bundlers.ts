/** sous in what bundlers make of a program: their output answers a request. */

import { copyFileSync, cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Look } from "../external/look.ts";
import { SCRIPT, TREE } from "./neighbours.ts";
import { Project } from "./project.ts";
import { type PackageName, pinned } from "./versions.ts";

/** The programs, and what each answers. */
const ANSWERS = {
  tree: TREE,
  protocols: JSON.stringify({
    text: "Done.",
    content: "Served.",
    spans: ["chat model", "execute_tool mcp__toy__look", "chat model", "invoke_agent lead"],
  }),
};
type Program = keyof typeof ANSWERS;
const PROGRAMS: readonly Program[] = ["tree", "protocols"];
const SOURCES = ["tree.mjs", "protocols.mjs", "serve.mjs", "tree-server.mjs", "protocols-server.mjs"];
const TRACED = JSON.stringify({
  text: "Traced.",
  spans: ["chat model", "invoke_agent lead"],
  loaded: ["function", "function"],
});

const OTEL: readonly PackageName[] = ["@opentelemetry/sdk-trace-base", "@opentelemetry/api"];
const ESBUILD = "node_modules/esbuild/bin/esbuild";
const ESBUILD_FLAGS = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning"];
/** For packages that are CommonJS, such as OpenTelemetry's: esbuild leaves their `require` of Node's modules as it is. */
const REQUIRE = `--banner:js=import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;
/** Which behaviour of workerd the worker gets. */
const COMPATIBILITY_DATE = "2026-07-01";

export async function lookAtBundlers(look: Look, tarball: string): Promise<void> {
  await look.during("Next", () => lookAtNext(look, tarball));
  await look.during("Vite", () => lookAtVite(look, tarball));
  await look.during("esbuild", () => lookAtEsbuild(look, tarball));
  await look.during("workerd", () => lookAtWorkerd(look, tarball));
}

/** With its default bundler, Turbopack, and without a setting. */
async function lookAtNext(look: Look, tarball: string): Promise<void> {
  using project = await projectWith(look, tarball, "next", "react", "react-dom", ...OTEL);
  for (const program of PROGRAMS) project.write(`app/${program}/route.js`, nextRoute(program));
  const next = "node_modules/next/dist/bin/next";
  const built = await project.node(next, ["build"]);
  const isBuilt = built.code === 0 && built.output.includes("(Turbopack)") && !/warn/i.test(built.output);
  look.at(`${pinned("next")}: next build with Turbopack warns of nothing`, isBuilt, built);
  if (built.code !== 0) return;
  const start = (port: string): string[] => ["start", "--port", port, "--hostname", "127.0.0.1"];
  await using server = await project.serve(next, { parameters: start });
  for (const program of PROGRAMS)
    lookAtAnswer(look, `${pinned("next")}: next start`, program, await server.ask(program));
}

function nextRoute(program: Program): string {
  return [
    `import { answer } from "../../${program}.mjs";`,
    `export const dynamic = "force-dynamic";`,
    "export const GET = async () => Response.json(await answer());",
    "",
  ].join("\n");
}

/** `vite build --ssr` leaves packages outside unless it is told; then the output needs no `node_modules`. */
async function lookAtVite(look: Look, tarball: string): Promise<void> {
  using project = await projectWith(look, tarball, "vite", ...OTEL);
  for (const program of PROGRAMS) {
    const file = `out/${program}-server.js`;
    await viteBuild(look, project, program, "packages outside");
    await lookAtServer(look, `${pinned("vite")}: packages outside`, program, project, join(project.folder, file));
    project.write("vite.config.mjs", "export default { ssr: { noExternal: true } };\n");
    await viteBuild(look, project, program, "packages inside");
    cpSync(join(project.folder, "out"), join(project.alone, "out"), { recursive: true });
    await lookAtServer(look, `${pinned("vite")}: packages inside`, program, project, join(project.alone, file));
    project.write("vite.config.mjs", "export default {};\n");
  }
}

async function viteBuild(look: Look, project: Project, program: Program, how: string): Promise<void> {
  const parameters = ["build", "--ssr", `${program}-server.mjs`, "--outDir", "out", "--emptyOutDir"];
  const { code, output } = await project.node("node_modules/vite/bin/vite.js", parameters);
  const isBuilt = code === 0 && !/warn/i.test(output);
  look.at(`${pinned("vite")}: ${how}: vite build --ssr of ${program} warns of nothing`, isBuilt, output);
}

/** The bundle answers where there is no `node_modules`. */
async function lookAtEsbuild(look: Look, tarball: string): Promise<void> {
  using project = await projectWith(look, tarball, "esbuild", ...OTEL);
  if (!hasBinary(project, "@esbuild", "")) return;
  for (const program of PROGRAMS) {
    const [source, target] = [`${program}-server.mjs`, join(project.alone, `${program}-server.mjs`)];
    const more = program === "protocols" ? [REQUIRE] : [];
    const { code, output } = await project.node(ESBUILD, [source, ...ESBUILD_FLAGS, ...more, `--outfile=${target}`]);
    look.at(
      `${pinned("esbuild")}: the bundle of ${program} is built without a warning`,
      code === 0 && output === "",
      output,
    );
    await lookAtServer(look, pinned("esbuild"), program, project, target);
  }
}

async function lookAtWorkerd(look: Look, tarball: string): Promise<void> {
  using project = await projectWith(look, tarball, "miniflare", "esbuild", ...OTEL);
  if (!hasBinary(project, "@cloudflare", "workerd-") || !hasBinary(project, "@esbuild", "")) return;
  project.take("worker.mjs", "ask-worker.mjs");
  // A worker has no `require`: packages that have both forms are taken as modules.
  const flags = [...ESBUILD_FLAGS, "--main-fields=module,main", "--outfile=out/worker.mjs"];
  const built = await project.node(ESBUILD, ["worker.mjs", ...flags]);
  look.at(`workerd (${pinned("miniflare")}): the worker is built without a warning`, built.output === "", built);
  const { output } = await project.node("ask-worker.mjs", ["out/worker.mjs", COMPATIBILITY_DATE]);
  const [tree, traced] = output.split("\n");
  look.at(`workerd (${pinned("miniflare")}): a request runs a tree with a child`, tree === TREE, output);
  look.at(
    `workerd (${pinned("miniflare")}): sous/otel makes spans, sous/mcp and sous/acp are loaded`,
    traced === TRACED,
    output,
  );
}

/** A project with packages of others, then sous, and the sources of both programs. */
async function projectWith(look: Look, tarball: string, ...names: readonly PackageName[]): Promise<Project> {
  const project = new Project();
  await project.install(...names);
  const wrong = await project.add(tarball);
  look.at(`install beside ${names.map(pinned).join(", ")}: npm warns of nothing`, wrong.length === 0, wrong);
  project.take("mcp-server.mjs", ...SOURCES);
  project.write("script.json", SCRIPT);
  for (const file of ["mcp-server.mjs", "script.json"])
    copyFileSync(join(project.folder, file), join(project.alone, file));
  return project;
}

/** Starts a built server where its file is, and asks it. */
async function lookAtServer(
  look: Look,
  where: string,
  program: Program,
  project: Project,
  file: string,
): Promise<void> {
  const cwd = file.startsWith(project.alone) ? project.alone : project.folder;
  await using server = await project.serve(file, { cwd });
  lookAtAnswer(look, where, program, await server.ask(program));
}

function lookAtAnswer(look: Look, where: string, program: Program, answer: string): void {
  const what = program === "tree" ? "runs a tree with a child" : "uses sous/mcp, sous/acp and sous/otel";
  look.at(`${where}: a request ${what}`, answer === ANSWERS[program], answer);
}

/** Some packages bring their program in another one for the platform, which a registry may lack. */
function hasBinary(project: Project, scope: string, prefix: string): boolean {
  const folder = join(project.folder, "node_modules", scope);
  if (existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(prefix))) return true;
  console.log(`NOT SEEN  ${scope}/${prefix}${process.platform}: npm has installed no program for this platform`);
  return false;
}
