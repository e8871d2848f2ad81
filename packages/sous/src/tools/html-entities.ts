/** The named characters of HTML that people write. */

/** The names people write; others stay as they are written. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,30}));/gi,
    (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return NAMED.get(name) ?? whole;
      const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point).toWellFormed() : "\ufffd";
    },
  );
}

/** Each name with its character. */
const WRITTEN =
  "amp& lt< gt> quot\" apos' copy© reg® trade™ deg° plusmn± times× divide÷ minus− microµ middot· frac12½ " +
  "frac14¼ frac34¾ sup2² sup3³ para¶ sect§ not¬ laquo« raquo» lsquo‘ rsquo’ sbquo‚ ldquo“ rdquo” bdquo„ " +
  "lsaquo‹ rsaquo› ndash– mdash— hellip… bull• dagger† Dagger‡ permil‰ prime′ Prime″ euro€ pound£ yen¥ cent¢ " +
  "curren¤ iexcl¡ iquest¿ larr← uarr↑ rarr→ darr↓ harr↔ rArr⇒ hArr⇔ forall∀ exist∃ empty∅ isin∈ sum∑ radic√ " +
  "infin∞ and∧ or∨ cap∩ cup∪ int∫ asymp≈ ne≠ equiv≡ le≤ ge≥ alphaα betaβ gammaγ deltaδ lambdaλ muμ piπ " +
  "sigmaσ omegaω szligß aumlä oumlö uumlü AumlÄ OumlÖ UumlÜ aacuteá eacuteé iacuteí oacuteó uacuteú agraveà " +
  "egraveè ccedilç ntildeñ acircâ ecircê icircî ocircô aringå aeligæ oslashø check✓ lbrace{ rbrace} lbrack[ " +
  "rbrack] lpar( rpar) num# ast* comma, period. colon: semi; excl! quest? sol/ bsol\\ lowbar_ grave` vert| " +
  "equals= plus+ dollar$ percnt% commat@";

/** Blanks of all widths are blanks, and what is only a hint for the browser is nothing. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ...WRITTEN.split(" ").map((each): [string, string] => [each.slice(0, -1), each.slice(-1)]),
  ...["nbsp", "ensp", "emsp", "thinsp", "Tab", "NewLine"].map((name): [string, string] => [name, " "]),
  ...["shy", "zwnj", "zwj"].map((name): [string, string] => [name, ""]),
]);
