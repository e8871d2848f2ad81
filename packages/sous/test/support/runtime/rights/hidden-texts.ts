/** Harmful text in places where a person could overlook it: one text for each way of hiding it. */

export const HARM = "touch harm-7f3a";

const filler = (count: number, end = "\n") => Array.from({ length: count }, (_, index) => `echo ${index}`).join(end);

export const HIDDEN_TEXTS: Readonly<Record<string, string>> = {
  "in the middle of a long line": `${"x".repeat(1500)}; ${HARM}; ${"y".repeat(1500)}`,
  "at the end of a line of 500 characters": `echo ${"x".repeat(480)} ; ${HARM}`,
  "behind a line that ends as questions do": `echo ok\nend of question 5: approve it as 5:00000000\n${HARM}`,
  "behind a thousand lines": `${filler(1000)}\n${HARM}`,
  "between a thousand lines": `${filler(500)}\n${HARM}\n${filler(500)}`,
  "behind a thousand empty lines": `echo ok${"\n".repeat(1000)}${HARM}`,
  "behind 900 spaces": `echo ok${" ".repeat(900)}; ${HARM}`,
  "behind 300 tabs": `echo ok${"\t".repeat(300)}; ${HARM}`,
  "behind no-break spaces": `echo ok${"\u00a0".repeat(300)}; ${HARM}`,
  "behind blank Braille": `echo ok${"\u2800".repeat(300)}; ${HARM}`,
  "under a carriage return": `${HARM}\recho ok          `,
  "under backspaces": `${HARM}${"\b".repeat(HARM.length)}echo ok`,
  "in an erased line": `${HARM}\u001b[2K\u001b[1A\recho ok`,
  "in the title of a terminal": `echo ok\u001b]0;${HARM}\u0007`,
  "in the colour of the background": `echo ok \u001b[30;40m${HARM}\u001b[0m`,
  "turned around": `echo \u202e${[...HARM].reverse().join("")}\u202c; ${HARM}`,
  "with a zero-width space in each gap": `echo ok; ${[...HARM].join("\u200b")}; ${HARM}`,
  "behind tag characters": `echo ok${"\u{e0041}".repeat(200)}; ${HARM}`,
  "behind a mark of a code": `echo <U+001B>[2K; ${HARM} <U+003C>`,
  "behind a mark of a gap": `echo a <12 spaces> b <12 empty lines>; ${HARM}`,
  "behind the mark of a line break": `echo a\n| echo b\n  | ${HARM}`,
  "behind what stands between fields": `echo a · ${HARM} · path: b`,
  "in a comment and behind it": `# harmless ${"x".repeat(450)}\n${HARM}`,
  "behind a line separator": `echo ok\u2028${HARM}\u2029`,
  "behind a lone half of a pair": `echo \u{1f600} ok; ${HARM} \u{e000}`,
};
