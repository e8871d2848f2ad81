/** Whether what reads our output understands UTF-8, by the variables that every program goes by. */

type Environment = Readonly<Record<string, string | undefined>>;

/** The locale of characters; empty when nobody has said anything. */
export function localeOf({ LC_ALL, LC_CTYPE, LANG }: Environment): string {
  return LC_ALL || LC_CTYPE || LANG || "";
}

/** Where nothing is set, as in most containers, terminals understand it. */
export function isUnicode(env: Environment): boolean {
  const locale = localeOf(env);
  return locale === "" || /utf-?8/i.test(locale);
}
