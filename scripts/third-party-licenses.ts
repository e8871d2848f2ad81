/** The licences of the packages whose code is part of the bundle. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Bundled = { readonly folder: string; readonly version?: string | undefined };
type Manifest = { name: string; version: string; license: string };

/** A package inside of another: the SDK of MCP is published with ajv and others in its own files, and names them in comments. */
const INLINED = /\.pnpm\/[^/\s]+?@([\d.]+)[^/\s]*\/node_modules\/((?:@[^/\s]+\/)?[^/\s]+)/g;

/** The text of the file, for the modules of a bundle. Throws when a package has no licence file: it must not be published so. */
export function thirdPartyLicenses(root: string, modules: Iterable<string>): string {
  const bundled = new Map(
    [...modules].flatMap((module) => packagesOf(root, module)).map((each) => [each.folder, each]),
  );
  const parts = [...bundled.values()].map(licenseOf).sort();
  return `The files in this folder contain code of these packages.\n\n${parts.join("\n")}`;
}

function packagesOf(root: string, module: string): Bundled[] {
  // Helpers of the bundler are files without a path.
  if (module.startsWith("\0")) return [{ folder: join(root, "node_modules/rolldown") }];
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module) ?? [];
  if (folder === undefined) return [];
  const inlined = [...readFileSync(module, "utf8").matchAll(INLINED)].map(([, version, name = ""]) => ({
    folder: join(root, "node_modules", name),
    version,
  }));
  return [{ folder }, ...inlined];
}

function licenseOf({ folder, version }: Bundled): string {
  const file = existsSync(folder) ? readdirSync(folder).find((name) => /^licen[cs]e/i.test(name)) : undefined;
  if (file === undefined) throw new Error(`${folder} is bundled and has no licence file.`);
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${"-".repeat(80)}\n${manifest.name} ${version ?? manifest.version} (${manifest.license})\n\n${text}\n`;
}
