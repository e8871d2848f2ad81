/** The signatures of exported names, read from the sources: which types they mention, and which fields they have. */

import { dirname, join } from "node:path";
import {
  type Declaration,
  type Exported,
  exportedNames,
  findExported,
  readSource,
  type Source,
} from "../../../../scripts/reference/source.ts";

type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A name that a door exports, with the parts of its declarations that users see. */
export type PublicName = { readonly name: string; readonly source: Source; readonly signature: readonly Node[] };

/** The names of a door, in its order. */
export function publicNames(door: string): PublicName[] {
  return exportedNames(door).map(({ name, from, isType }) => ({
    name,
    source: from,
    signature: findExported(from, name)
      .filter(isSeen)
      .flatMap(({ declaration }) => signatureOf(declaration, isType)),
  }));
}

/** `file#Name` of every type of ours that a signature mentions. */
export function mentionedTypes({ source, signature }: PublicName): string[] {
  const names = new Set(signature.flatMap((node) => [...nodesIn(node)]).map(typeNameOf));
  return [...names].flatMap((name) => (name && placeOf(source, name)) ?? []);
}

/** The fields of a signature that hold a number, at any depth. */
export function numberFields({ signature }: PublicName): string[] {
  return signature
    .flatMap((node) => [...nodesIn(node)])
    .filter(({ type }) => type === "TSPropertySignature" || type === "PropertyDefinition")
    .filter(({ typeAnnotation }) => [...nodesIn(typeAnnotation)].some(({ type }) => type === "TSNumberKeyword"))
    .flatMap(({ key }) => (isNode(key) && typeof key.name === "string" ? [key.name] : []));
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** The implementation behind overloads has a signature that nobody sees. */
function isSeen({ declaration }: Exported, _index: number, all: readonly Exported[]): boolean {
  const hasOverloads = all.some(({ declaration: { type } }) => type === "TSDeclareFunction");
  return !(hasOverloads && declaration.type === "FunctionDeclaration");
}

/** Without bodies and private members. The constructor of a class that is exported as a type cannot be called. */
function signatureOf(declaration: Declaration, isType: boolean): Node[] {
  const parts = (): unknown[] => {
    switch (declaration.type) {
      case "FunctionDeclaration":
      case "TSDeclareFunction":
        return [...declaration.params, declaration.returnType, declaration.typeParameters];
      case "VariableDeclaration":
        return declaration.declarations.map(({ id }) => ("typeAnnotation" in id ? id.typeAnnotation : undefined));
      case "ClassDeclaration": {
        const { superTypeArguments, typeParameters, body } = declaration;
        const members = body.body.filter(
          (member) => !isPrivate(member) && !(isType && "kind" in member && member.kind === "constructor"),
        );
        return [...(declaration.implements ?? []), superTypeArguments, typeParameters, ...members.map(withoutBody)];
      }
      default:
        return [declaration];
    }
  };
  return parts().filter(isNode);
}

function isPrivate(member: object): boolean {
  const { key, accessibility } = member as Record<string, unknown>;
  return (isNode(key) && key.type === "PrivateIdentifier") || accessibility === "private";
}

function withoutBody(member: object): Record<string, unknown> {
  const { type, key, typeAnnotation, value } = member as Record<string, unknown>;
  const method = isNode(value) && value.type === "FunctionExpression" ? value : undefined;
  const { params, returnType, typeParameters }: Partial<Node> = method ?? {};
  return { type, key, typeAnnotation, params, returnType, typeParameters };
}

function* nodesIn(part: unknown): Generator<Node> {
  if (isNode(part)) yield part;
  if (typeof part !== "object" || part === null) return;
  for (const inner of Object.values(part)) yield* nodesIn(inner);
}

function typeNameOf({ type, typeName, expression }: Node): string | undefined {
  const named = type === "TSClassImplements" ? expression : typeName;
  return isNode(named) && typeof named.name === "string" ? named.name : undefined;
}

/** Where a name of a file is declared; undefined for a parameter of a type, a global and a name of another package. */
function placeOf(source: Source, name: string): string | undefined {
  for (const statement of source.body) {
    if (statement.type === "ImportDeclaration") {
      if (!statement.specifiers.some(({ local }) => local.name === name)) continue;
      const from = statement.source.value;
      return from.startsWith(".") ? `${readSource(join(dirname(source.file), from)).file}#${name}` : undefined;
    }
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration !== null && "id" in declaration && (declaration.id as { name?: string } | null)?.name === name)
      return `${source.file}#${name}`;
  }
  return undefined;
}
