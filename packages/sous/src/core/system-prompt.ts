/** What a model reads before the first message: the instructions of its agent, and the notes that follow them. */

export type PromptParts = { readonly instructions: string | undefined; readonly notes: string | undefined };

/** Undefined when there is neither. */
export function systemPrompt({ instructions, notes }: PromptParts): string | undefined {
  if (notes === undefined || notes === "") return instructions;
  return instructions === undefined || instructions === "" ? notes : `${instructions}\n\n${notes}`;
}
