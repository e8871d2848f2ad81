/** The page of the events: the head that all share, then every type with its fields. */

import { linkTo } from "./api-pages.ts";
import { inlineCode, item, page, wrap } from "./markdown.ts";
import {
  type Declaration,
  docBefore,
  type Exported,
  findExported,
  findUsed,
  moduleDoc,
  readSource,
  type Source,
  textOf,
} from "./source.ts";

type TypeNode = Extract<Declaration, { type: "TSTypeAliasDeclaration" }>["typeAnnotation"];
type Field = { name: string; type: string; doc: string };
type EventType = { name: string; doc: string; fields: Field[] };

/** Every event as its type declares it, in that order. The name of a field ends in `?` when it may be missing. */
export function eventTypes(): { stored: EventType[]; deltas: EventType[] } {
  const source = readSource("core/event.ts");
  return { stored: membersOf(source, "StoredBody"), deltas: membersOf(source, "DeltaBody") };
}

export function eventsPage(): string {
  const source = readSource("core/event.ts");
  const { stored, deltas } = eventTypes();
  const intro = moduleDoc(source);
  return page("Reference: events", intro, [
    "## Every event",
    "All events begin with these fields. `seq` is missing on deltas.",
    fieldList([
      { name: "type", type: '"run-start" | …', doc: "Which of the facts below it is." },
      { name: "seq", type: "number", doc: "1, 2, 3 … within the tree." },
      { name: "time", type: "number", doc: "Milliseconds since 1970." },
      ...fieldsOfAlias(source, "RunIdentity"),
    ]),
    "## Stored events",
    ...stored.flatMap(describe),
    "## Deltas",
    ...deltas.flatMap(describe),
    ...typesUsed([...stored, ...deltas]),
  ]);
}

function describe({ name, doc, fields }: EventType): string[] {
  const others = fields.filter((field) => field.name !== "type");
  return [`### ${name}`, ...(doc === "" ? [] : [wrap(doc)]), ...(others.length === 0 ? [] : [fieldList(others)])];
}

/** The fields whose names say it all are one line; each of the others has a line with its comment. */
function fieldList(fields: readonly Field[]): string {
  const shown = ({ name, type }: Field): string =>
    `\`${name}\` (${inlineCode(name.endsWith("?") ? type.replace(/ \| undefined$/, "") : type)})`;
  const lines = fields.filter(({ doc }) => doc !== "").map((field) => item(`${shown(field)}: ${field.doc}`));
  const plain = fields.filter(({ doc }) => doc === "").map(shown);
  return [...(plain.length === 0 ? [] : [item(plain.join(", "))]), ...lines].join("\n");
}

/** The members of a union, each an object type with a literal `type`. */
function membersOf(source: Source, alias: string): EventType[] {
  const union = aliasOf(source, alias).typeAnnotation;
  if (union.type !== "TSUnionType") throw new Error(`${alias} is not a union`);
  return union.types.flatMap((member): EventType[] => {
    const inner = member.type === "TSTypeReference" ? used(source, textOf(source, member)) : undefined;
    // A union inside the union, such as the pieces of what a model says.
    if (inner?.declaration.type === "TSTypeAliasDeclaration" && inner.declaration.typeAnnotation.type === "TSUnionType")
      return membersOf(inner.source, textOf(source, member));
    const fields = fieldsOf(source, member);
    const name = fields.find((field) => field.name === "type")?.type.replaceAll('"', "");
    if (name === undefined) throw new Error(`A member of ${alias} has no type`);
    const own = docBefore(source, member.start, "|(=");
    return [{ name, doc: own === "" ? aliasDoc(source, member) : own, fields }];
  });
}

function fieldsOf(source: Source, node: TypeNode): Field[] {
  switch (node.type) {
    case "TSParenthesizedType":
      return fieldsOf(source, node.typeAnnotation);
    case "TSIntersectionType":
      return node.types.flatMap((each) => fieldsOf(source, each));
    case "TSTypeReference": {
      const { source: there, declaration } = used(source, textOf(source, node));
      if (declaration.type !== "TSTypeAliasDeclaration") throw new Error(`${textOf(source, node)} is not a type`);
      return fieldsOf(there, declaration.typeAnnotation);
    }
    case "TSTypeLiteral":
      return node.members.flatMap((member) => {
        if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") return [];
        const type = member.typeAnnotation === null ? "" : textOf(source, member.typeAnnotation.typeAnnotation);
        const name = member.optional ? `${member.key.name}?` : member.key.name;
        return [{ name, type: type.replace(/^\|\s*/, ""), doc: docBefore(source, member.start) }];
      });
    default:
      throw new Error(`The reference cannot show ${textOf(source, node)}`);
  }
}

/** Links to the types the fields mention: the package exports all of them. */
function typesUsed(events: readonly EventType[]): string[] {
  const mentioned = new Set(
    events.flatMap(({ fields }) => fields.flatMap(({ type }) => type.match(/\b[A-Z]\w+/g) ?? [])),
  );
  const links = [...mentioned].sort().flatMap((name) => {
    const link = linkTo(name);
    return link === undefined ? [] : [`[${name}](${link})`];
  });
  return ["## Types of their fields", wrap(`${links.join(", ")}.`)];
}

function fieldsOfAlias(source: Source, alias: string): Field[] {
  return fieldsOf(source, aliasOf(source, alias).typeAnnotation);
}

function aliasOf(source: Source, name: string): Extract<Declaration, { type: "TSTypeAliasDeclaration" }> {
  const declaration = findExported(source, name)[0]?.declaration;
  if (declaration?.type !== "TSTypeAliasDeclaration") throw new Error(`core/event.ts has no type ${name}`);
  return declaration;
}

function aliasDoc(source: Source, node: TypeNode): string {
  if (node.type !== "TSTypeReference") return "";
  const { source: there, start } = used(source, textOf(source, node));
  return docBefore(there, start);
}

function used(source: Source, name: string): Exported {
  return findUsed(source, name) ?? raise(`core/event.ts mentions ${name}, which it neither declares nor imports`);
}

function raise(message: string): never {
  throw new Error(message);
}
