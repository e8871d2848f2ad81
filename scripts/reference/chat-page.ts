/** The page of the chat: what can be typed and pressed. */

import { helpRows } from "../../packages/sous/src/app/cli/chat/slash-commands.ts";
import { inlineCode, page, table, wrap } from "./markdown.ts";

export function chatPage(): string {
  const rows = helpRows();
  const isCommand = ([typed]: [string, string]): boolean => typed.startsWith("/");
  const cells = ([typed, about]: [string, string]): string[] => [inlineCode(typed), about];
  return page("Reference: chat", "What can be typed in `sous` and `sous chat`; `/help` shows the same.", [
    wrap(
      "Everything else that is typed is a message to the agent. While a run works, a message steers it: the agent reads it before its next turn. In a pipe every line is a message, the answers are on stdout, and slash commands work; keys do not. Options of the command are in [the command line](cli.md#sous-chat).",
    ),
    "## Slash commands",
    table(["command", "meaning"], rows.filter(isCommand).map(cells)),
    "## Other lines and keys",
    table(["typed", "meaning"], rows.filter((row) => !isCommand(row)).map(cells)),
  ]);
}
