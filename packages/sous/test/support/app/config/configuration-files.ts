/** A user's file and a project's file in a folder of their own, and what comes of them. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ConfigurationSources,
  type LoadedConfiguration,
  loadConfiguration,
} from "../../../../src/app/config/load-configuration.ts";
import { ConfigurationError, type Problem } from "../../../../src/app/config/problem.ts";

export type Given = {
  user?: string | Uint8Array;
  project?: string | Uint8Array;
  /** The `.mcp.json` of the project. */
  mcp?: string | Uint8Array;
  env?: Record<string, string>;
  flags?: ConfigurationSources["flags"];
  configFlagFile?: string;
  checkRule?: ConfigurationSources["checkRule"];
};

export class ConfigurationFolder {
  readonly path: string = mkdtempSync(join(tmpdir(), "sous-configuration-"));

  file(name: string): string {
    return join(this.path, name);
  }

  /** Files are named as in the folder: `user.yaml`, `project.yaml`, `.mcp.json`. */
  async load({ user, project, mcp, env = {}, flags, configFlagFile, checkRule }: Given): Promise<LoadedConfiguration> {
    for (const [name, text] of Object.entries({ "user.yaml": user, "project.yaml": project })) {
      if (text === undefined) rmSync(this.file(name), { force: true });
      else writeFileSync(this.file(name), text);
    }
    return loadConfiguration({
      userFile: this.file("user.yaml"),
      project: project === undefined ? undefined : { file: this.file("project.yaml"), content: Buffer.from(project) },
      mcpFile: mcp === undefined ? undefined : { file: this.file(".mcp.json"), content: Buffer.from(mcp) },
      configFlagFile,
      env,
      flags,
      cwd: this.path,
      checkRule,
    });
  }

  /** What is wrong; nothing when it loads. */
  async problems(given: Given): Promise<readonly Problem[]> {
    try {
      await this.load(given);
      return [];
    } catch (error) {
      if (error instanceof ConfigurationError) return error.problems;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}
