/** The page of one door of the package: every name, what its comment says, and its signature. */

import { code, page, wrap } from "./markdown.ts";
import {
  type Declaration,
  docBefore,
  type Exported,
  exportedNames,
  findExported,
  type Source,
  textOf,
} from "./source.ts";

export function exportsPage(specifier: string, door: string, intro: string): string {
  const entries = exportedNames(door).map(({ name, from }) => describe(name, findExported(from, name)));
  entries.sort((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
  const values = entries.filter(({ isType }) => !isType);
  const types = entries.filter(({ isType }) => isType);
  return page(`Reference: \`${specifier}\``, intro, [
    "## Functions and classes",
    ...values.map(({ text }) => text),
    "## Types",
    ...types.map(({ text }) => text),
  ]);
}

type Entry = { name: string; isType: boolean; text: string };

function describe(name: string, found: readonly Exported[]): Entry {
  const [first] = found;
  if (first === undefined) throw new Error(`${name} is exported and not declared where the door says`);
  const overloads = found.filter(({ declaration }) => declaration.type === "TSDeclareFunction");
  const shown = overloads.length > 0 ? overloads : [first];
  const signatures = shown.map(({ source, declaration }) => signatureOf(source, declaration));
  const documented = shown.map(({ source, start }) => docBefore(source, start)).filter((doc) => doc !== "");
  return {
    name,
    isType: first.declaration.type === "TSTypeAliasDeclaration",
    text: [`### ${name}`, ...documented.map(wrap), code(signatures.join("\n"))].join("\n\n"),
  };
}

/** Types whole, functions and classes without what is inside their methods. */
export function signatureOf(source: Source, declaration: Declaration): string {
  switch (declaration.type) {
    case "TSTypeAliasDeclaration":
    case "TSDeclareFunction":
      return textOf(source, declaration);
    case "FunctionDeclaration":
      return `${source.text.slice(declaration.start, declaration.body?.start).trim()};`;
    case "ClassDeclaration":
      return classSignature(source, declaration);
    default:
      throw new Error(`The reference cannot show a ${declaration.type}`);
  }
}

function classSignature(source: Source, declaration: ClassNode): string {
  const head = source.text.slice(declaration.start, declaration.body.start).trim();
  const members = declaration.body.body.flatMap((member) => {
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return [];
    // Private names are nobody's business, and the name of an error is its class.
    if (member.key.type === "PrivateIdentifier" || ("override" in member && member.override)) return [];
    const doc = docBefore(source, member.start);
    const comment = doc === "" ? "" : `  /** ${doc} */\n`;
    return [`${comment}  ${memberSignature(source, member)};`];
  });
  return members.length === 0 ? `${head} {}` : `${head} {\n${members.join("\n")}\n}`;
}

type ClassNode = Extract<Declaration, { type: "ClassDeclaration" | "ClassExpression" }>;
type Member = ClassNode["body"]["body"][number];
type MethodType = "MethodDefinition" | "TSAbstractMethodDefinition";
type PropertyType = "PropertyDefinition" | "TSAbstractPropertyDefinition";

function memberSignature(source: Source, member: Extract<Member, { type: MethodType | PropertyType }>): string {
  const end =
    "kind" in member ? member.value.body?.start : (member.typeAnnotation?.end ?? member.value?.start ?? member.end);
  return source.text.slice(member.start, end).replace(/[=;\s]+$/, "");
}
