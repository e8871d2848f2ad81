/** What the codes mean that commands end with, for people: the reference is made from it. */

export type ExitCodeEntry = { readonly code: number; readonly about: string; readonly remedy: string };

export const EXIT_CODE_TABLE: readonly ExitCodeEntry[] = [
  { code: 0, about: "Done. The run completed, or the command did what it was asked.", remedy: "" },
  {
    code: 1,
    about:
      "The run failed or the model refused; an id is unknown; a database cannot be used; `sous doctor` found a problem.",
    remedy: "Read the last line of stderr. `sous replay --tree --id last` shows which agent failed.",
  },
  {
    code: 2,
    about: "The command was not typed as it should be. Nothing was started.",
    remedy: "`sous COMMAND --help`",
  },
  {
    code: 3,
    about: "The configuration or an agent file is broken. Nothing was started.",
    remedy: "`sous config check`, `sous agents check`",
  },
  {
    code: 4,
    about: "No model is chosen, its key is missing, or its provider refused the key.",
    remedy: "Set the variable that is named. `sous doctor` shows what is set.",
  },
  {
    code: 5,
    about: "The budget is spent. What there was is printed as a partial result.",
    remedy: "More `--budget` or `--max-tokens-total`, or `sous resume ID --budget +TOKENS`.",
  },
  {
    code: 6,
    about: "Out of turns, or out of time. The result is incomplete.",
    remedy: "More `--max-turns` or `--timeout`, or a smaller task.",
  },
  {
    code: 7,
    about:
      "An action needed consent, nobody was there, and no rule decided. It was refused, and the run went on without it.",
    remedy: "`--allow RULE` for what `denied` of the JSON result lists, or `permissions` in the configuration.",
  },
  { code: 8, about: "A recording does not match what happened now.", remedy: "The first step that differs is named." },
  { code: 129, about: "Ended by a hang-up (HUP): the terminal was closed.", remedy: "`sous resume` goes on." },
  { code: 130, about: "Stopped by an interrupt (INT, Ctrl+C).", remedy: "`sous resume` goes on." },
  { code: 141, about: "Whoever read stdout has closed it.", remedy: "" },
  { code: 143, about: "Ended by TERM.", remedy: "`sous resume` goes on." },
];
