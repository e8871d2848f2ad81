/** Declarations as the reference shows them: types and constants whole, functions and classes without what is inside their bodies. */

import { type Declaration, docBefore, type Source, textOf } from "./source.ts";

export function signatureOf(source: Source, declaration: Declaration): string {
  switch (declaration.type) {
    case "TSTypeAliasDeclaration":
    case "TSDeclareFunction":
    case "VariableDeclaration":
      return textOf(source, declaration);
    case "FunctionDeclaration":
      return `${source.text.slice(declaration.start, declaration.body?.start).trim()};`;
    case "ClassDeclaration":
      return classSignature(source, declaration);
    default:
      throw new Error(`The reference cannot show a ${declaration.type}`);
  }
}

/** Without words that every field has and that say nothing about it, and with comments of one line each. */
export function simplified(signature: string): string {
  return signature
    .replaceAll(/^( *)\/\*\*(.*?)\*\/$/gms, (_whole, indent: string, text: string) =>
      text
        .split("\n")
        .map((line) => line.replace(/^ *\* ?/, "").trim())
        .filter((line) => line !== "")
        .map((line) => `${indent}// ${line}`)
        .join("\n"),
    )
    .replaceAll(/^(\s+)readonly (?=\w+\??:)/gm, "$1")
    .replaceAll(/(\w\?: [^;\n]*?) \| undefined(?=[;,)]| \}|$)/gm, "$1");
}

function classSignature(source: Source, declaration: ClassNode): string {
  const head = source.text.slice(declaration.start, declaration.body.start).trim();
  const members = declaration.body.body.flatMap((member) => {
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return [];
    // Private names are not part of the interface, and the name of an error is its class.
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
