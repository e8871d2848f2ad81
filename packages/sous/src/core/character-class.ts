/** Classes of characters as JavaScript knows them, in the syntax of RE2. */

/** Members of a set, by the letter of the escape. JavaScript knows more spaces than RE2. */
export const CLASSES: Record<string, string> = {
  d: "\\d",
  D: "\\D",
  w: "\\w",
  W: "\\W",
  s: "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}",
  S:
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}",
};

const CATEGORIES: Record<string, string> = {
  ...{ Letter: "L", Uppercase_Letter: "Lu", Lowercase_Letter: "Ll", Mark: "M", Number: "N", Decimal_Number: "Nd" },
  ...{ Punctuation: "P", Symbol: "S", Currency_Symbol: "Sc", Separator: "Z", Other: "C" },
};
/** Properties that RE2 calls by the same name. */
const SAME_NAMES =
  /^(?:C[cfnos]?|L[Clmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|Alphabetic|Lowercase|Uppercase|White_Space|Any|Assigned|Math|Dash|Quotation_Mark|Terminal_Punctuation|Hex_Digit|ASCII_Hex_Digit|Extended_Pictographic|Emoji(?:_Component|_Modifier|_Modifier_Base|_Presentation)?)$/;
/** Short names of scripts have four letters, as these long ones have. */
const SCRIPT_OF_FOUR_LETTERS = /^(?:Ahom|Cham|Kawi|Lisu|Miao|Modi|Newa|Thai|Toto)$/;

/** The name that RE2 has for a property of Unicode; undefined when it has none. */
export function propertyName(name: string): string | undefined {
  if (!isKnown(name)) return undefined;
  const [, kind = "", value = name] = /^(?:(General_Category|gc|Script|sc)=)?(.*)$/.exec(name) ?? [];
  if (kind === "Script" || kind === "sc")
    return value.length !== 4 || SCRIPT_OF_FOUR_LETTERS.test(value) ? value : undefined;
  return CATEGORIES[value] ?? (SAME_NAMES.test(value) ? value : undefined);
}

function isKnown(property: string): boolean {
  try {
    return new RegExp(`\\p{${property}}`, "u") !== undefined;
  } catch {
    return false;
  }
}
