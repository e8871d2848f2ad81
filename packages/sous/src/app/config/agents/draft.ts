/** An agent file while it is read: what its keys have said so far, with the line of each. */

import type { PermissionEffect, PermissionRule } from "../../../core/configuration.ts";
import type { AgentFileCode } from "../problem.ts";
import type { Path } from "../yaml/value.ts";
import type { AgentFields, AgentFile, AgentProblem, AgentSource, FieldOrigin, FrontMatter } from "./file.ts";
import { denies } from "./mcp-entries.ts";

type Field = keyof AgentFields;

/** Reads one key of the front matter into the draft. */
export type KeyReader = (draft: AgentDraft, key: string) => void;
export type KeyReaders = Readonly<Record<string, KeyReader>>;

/** Every call of the agent is compared with all of them. */
const MAX_RULES = 500;

export class AgentDraft {
  readonly source: AgentSource;
  readonly settings: FrontMatter["settings"];
  readonly problems: AgentProblem[] = [];
  /** Keys that mean nothing in any dialect, told together. */
  readonly unknown: string[] = [];
  readonly #at: FrontMatter["at"];
  readonly #body: string;
  readonly #values = new Map<Field, unknown>();
  readonly #fields = new Map<string, FieldOrigin>();
  /** Undefined until the file says which tools there are. */
  #tools: Map<string, FieldOrigin> | undefined;
  readonly #deny = new Map<string, FieldOrigin>();
  readonly #rules: PermissionRule[] = [];
  readonly #only: PermissionRule[] = [];
  #isWithheld = false;
  #isCallable = true;
  readonly #children = { isAllowed: false, isDenied: false };

  constructor(source: AgentSource, { settings, at, body }: FrontMatter) {
    this.source = source;
    this.settings = settings;
    this.#at = at;
    this.#body = body;
  }

  warn(code: AgentFileCode, path: Path, message: string, fix: string, part: "key" | "value" = "key"): void {
    this.#complain({ code, severity: "warning", ...this.#at(path, part), message, fix });
  }

  /** The agent is not loaded. */
  refuse(code: AgentFileCode, path: Path, message: string, fix: string, part: "key" | "value" = "value"): void {
    this.#complain({ code, severity: "error", ...this.#at(path, part), message, fix });
  }

  #complain(problem: Omit<AgentProblem, "file">): void {
    const { line, column, message } = problem;
    const isSaid = this.problems.some(
      (each) => each.line === line && each.column === column && each.message === message,
    );
    if (!isSaid) this.problems.push({ file: this.source.file, ...problem });
  }

  /** A person can run it, and no other agent can call it. */
  forPeople(): void {
    this.#isCallable = false;
  }

  /** The file is fine and yet gives no agent here: only this is said, and what is wrong. */
  withhold(code: AgentFileCode, path: Path, message: string, fix: string): void {
    this.#isWithheld = true;
    const errors = this.problems.filter(({ severity }) => severity === "error");
    this.problems.splice(0, this.problems.length, ...errors);
    this.warn(code, path, message, fix, "value");
  }

  set<Name extends Field>(field: Name, value: AgentFields[Name], path: Path, text: string = String(value)): void {
    this.#values.set(field, value);
    this.#fields.set(field, this.#origin(path, text));
  }

  /** A value that the dialect has when the file says nothing; it has no line. */
  setDefault<Name extends Field>(field: Name, value: AgentFields[Name], text: string): void {
    if (this.#values.has(field)) return;
    this.#values.set(field, value);
    this.#fields.set(field, { line: 0, text });
  }

  has(field: Field): boolean {
    return this.#values.has(field);
  }

  /** Gives the agent exactly the tools it is granted from now on. */
  limitTools(path: Path, text: string): void {
    this.#tools ??= new Map();
    this.#fields.set("tools", this.#origin(path, text));
  }

  grant(tool: string, path: Path, text: string): void {
    if (this.#tools !== undefined && !this.#tools.has(tool)) this.#tools.set(tool, this.#origin(path, text));
  }

  deny(tool: string, path: Path, text: string): void {
    if (!this.#deny.has(tool)) this.#deny.set(tool, this.#origin(path, text));
  }

  rule(effect: PermissionEffect, pattern: string, path: Path): void {
    const wrong = this.#tooMany() ?? this.source.checkRule?.(pattern);
    if (wrong === undefined) this.#rules.push(this.#toRule(effect, pattern, path));
    else if (effect === "allow") this.warn("SOUS-A006", path, wrong, "correct the pattern, or remove it");
    else this.refuse("SOUS-A006", path, wrong, "correct the pattern, or deny the tool as a whole");
  }

  /** The tool may only make calls that this pattern, or another one for it, covers. */
  only(pattern: string, path: Path): void {
    const wrong = this.#tooMany() ?? this.source.checkRule?.(pattern);
    if (wrong === undefined) this.#only.push(this.#toRule("allow", pattern, path));
    else this.refuse("SOUS-A006", path, wrong, "correct the pattern, or leave the tool out");
  }

  #tooMany(): string | undefined {
    const isFull = this.#rules.length + this.#only.length >= MAX_RULES;
    return isFull ? `an agent has at most ${MAX_RULES} rules` : undefined;
  }

  #toRule(effect: PermissionEffect, pattern: string, path: Path): PermissionRule {
    return { effect, pattern, origin: `${this.source.file}:${this.#at(path, "key").line}` };
  }

  /** Decides whether it may have children; one refusal is enough. */
  children(isAllowed: boolean, path: Path, text: string): void {
    if (isAllowed) this.#children.isAllowed = true;
    else this.#children.isDenied = true;
    if (!(isAllowed && this.#children.isDenied)) this.#fields.set("delegate", this.#origin(path, text));
  }

  #origin(path: Path, text: string): FieldOrigin {
    return { line: this.#at(path, "key").line, text };
  }

  /** Undefined when something is wrong with the file. */
  finish(): AgentFile | undefined {
    const isWrong = this.problems.some(({ severity }) => severity === "error");
    if (isWrong || this.#isWithheld || !this.#values.has("name")) return undefined;
    const { file, dialect, scope } = this.source;
    return {
      notes: true,
      ...(Object.fromEntries(this.#values) as AgentFields),
      instructions: this.#body,
      tools: this.#tools === undefined ? undefined : [...this.#tools.keys()],
      deny: [...this.#deny.keys()],
      rules: this.#rules,
      only: this.#only,
      ...(!this.#isCallable && { callable: false as const }),
      delegate: this.#children.isAllowed && !this.#children.isDenied,
      file,
      dialect,
      scope,
      origins: {
        tools: Object.fromEntries(this.#tools ?? []),
        deny: Object.fromEntries(this.#deny),
        fields: Object.fromEntries(this.#fields),
      },
    };
  }

  /** Undefined when the file does not list its tools. */
  get granted(): readonly string[] | undefined {
    return this.#tools === undefined ? undefined : [...this.#tools.keys()];
  }

  /** A pattern is denied when all of it is. */
  isDenied(tool: string): boolean {
    return denies({ deny: [...this.#deny.keys()] }, tool);
  }

  get isEmpty(): boolean {
    return this.#body === "";
  }
}

/** The words of an agent file about calls: allow, ask, deny. */
export function isEffect(word: unknown): word is PermissionEffect {
  return word === "allow" || word === "ask" || word === "deny";
}

/** An `allow` of a project is ignored: only the user may allow. */
export function warnOfAllow(draft: AgentDraft, path: Path): void {
  const message =
    "a file of a project can add and narrow, it cannot allow: the call asks as it would without this line";
  draft.warn("SOUS-A007", path, message, "allow it in your own configuration if you want that");
}
