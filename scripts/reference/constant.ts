/** The value of a constant of the sources by its name, whether it is exported or not. */

import { type Declaration, readSource } from "./source.ts";

type Variables = Extract<Declaration, { type: "VariableDeclaration" }>;
type Expression = NonNullable<Variables["declarations"][number]["init"]>;

/**
 * `path` is relative to `packages/sous/src`; with `field`, a field of a constant object. Throws when there is no such constant,
 * or it is not a product of numbers.
 */
export function constant(path: string, name: string, field?: string): number {
  const { body, text } = readSource(path);
  for (const statement of body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration") continue;
    for (const { id, init } of declaration.declarations) {
      if (id.type !== "Identifier" || id.name !== name || init === null) continue;
      return product(text.slice(...spanOf(init, field)), `${name} of ${path}`);
    }
  }
  throw new Error(`${path} has no constant ${name}: a page of the reference shows its value`);
}

type Span = { readonly start: number; readonly end: number };

function spanOf(init: Expression, field: string | undefined): [start: number, end: number] {
  const fields = init.type === "ObjectExpression" ? init.properties : [];
  const found = fields.find(
    (each) => each.type === "Property" && each.key.type === "Identifier" && each.key.name === field,
  );
  const { start, end }: Span = found?.type === "Property" ? found.value : init;
  return [start, end];
}

function product(text: string, name: string): number {
  const factors = text.split("*").map((factor) => factor.trim().replaceAll("_", ""));
  if (!factors.every((factor) => /^\d+(?:\.\d+)?$/.test(factor)))
    throw new Error(`${name} is not a product of numbers: ${text}`);
  return factors.reduce((value, factor) => value * Number(factor), 1);
}
