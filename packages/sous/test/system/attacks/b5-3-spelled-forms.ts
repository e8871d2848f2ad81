/** Code in plain sight behind programs that no table has, in spellings and places that are easily missed; and other ways to `touch`. */

import { wrapped } from "./b5-3-wrapper-forms.ts";

/** `W` is the wrapper. Judged behind every way to begin, also directly behind `--`. */
const FORMS: readonly string[] = [
  // Another spelling of the path or the name.
  "W /usr/bin//bash -c 'to\"\"uch M'",
  "W /usr/bin/./sh -c 'to\"\"uch M'",
  "W /usr/bin//env -S 'to\"\"uch M'",
  'W /etc/alternatives/awk \'BEGIN{system("to" "uch M")}\'',
  "W /usr/lib/git-core/git -c alias.x='!to\"\"uch M' x",
  "printf 'to%s M' uch | W /usr/bin//xargs nice",
  // A glob.
  "W /usr/bin/touc? M",
  "W /???/bin/touch M",
  "W /usr/bin/t*uch M",
  "W /bin/ba?h -c 'to\"\"uch M'",
  "W /usr/*/sh -c 'to\"\"uch M'",
  "W ./t? M",
  "W ./d*p/seco* M",
  // Options in a bundle, and behind others.
  "W perl -0777ne 'system q(to).q(uch M)' /etc/hostname",
  "W perl -l012ne 'system q(to).q(uch M)' /etc/hostname",
  "W perl -w0e 'system q(to).q(uch M)'",
  "W git -C . -c alias.x='!to\"\"uch M' x",
  "W git --no-pager -c alias.x='!to\"\"uch M' x",
  "W git -c a.b -c alias.x='!to\"\"uch M' x",
  'W tar cIf \'sh -c "to\\"\\"uch M";:\' /dev/null /etc/hostname',
  "W find -- . -maxdepth 0 -fprint M",
  "printf 'to%s M' uch | W xargs --verbose env",
  "printf 'to%s M' uch | W xargs --no-run-if-empty env",
  // Code behind a link with a folder above it.
  "W pq/../second M",
  "W ./far M",
];

/** Rule B of programs that need no option; the value of an option of the wrapper is not such a program. */
const SPOKEN: readonly string[] = [
  "W sed '1eto\"\"uch M' /etc/hostname",
  "W sed -n '1eto\"\"uch M' /etc/hostname",
  "W env -S 'to\"\"uch M'",
  "W env --split-string='to\"\"uch M'",
  "W make -f /dev/null --eval='x:;to\"\"uch M' x",
  "W script -qc 'to\"\"uch M' /dev/null",
  "W flock x.lock -c 'to\"\"uch M'",
  "W su -c 'to\"\"uch M'",
  "W ssh -o ProxyCommand='to\"\"uch M' none.invalid",
  "W vim -es -c '!to\"\"uch M' -c q",
  "W sqlite3 :memory: '.shell to\"\"uch M'",
  "W perl '-Mstrict;system(q(to).q(uch M))' /dev/null",
  'W python3 -m timeit -n1 -r1 \'__import__("os").system("to" + "uch M")\'',
];

/** Without a wrapper. `ROOT` is the repository. */
const OTHERS: readonly string[] = [
  "find -- . -maxdepth 0 -exec touch M ';'",
  "find -P -- . -maxdepth 0 -execdir touch M ';'",
  "find -- . -maxdepth 0 -fls M",
  "time find -- . -maxdepth 0 -fprint M",
  "./test touch M",
  "timeout 5 ./test touch M",
  "script/make touch M",
  "./test bash -c 'to\"\"uch M'",
  "cd -- deep && ./second M",
  "cd -L deep && ./second M",
  "cd -P deep && ./second M",
  "cd d*p && ./second M",
  "cd '' ; ./t M",
  "cd . . ; ./t M",
  "cd none more ; ./t M",
  "cd a; cd b; cd c; cd d; cd e; ./t M",
  "pq/../second M",
  "./far M",
  "cd pq && ../second M",
  "cat <<'X' | bash ./std\nto''uch M\nX",
  "cat <<'X' | python3 ./std\nimport os; os.system('to' + 'uch M')\nX",
  "cat <<'X' | perl ./std\nsystem q(to).q(uch M)\nX",
  "printf 'x:\\n\\tto\"\"uch M\\n' | make -f ./std",
  "zip -T -qTT 'touch M;' ROOT/q1.zip /etc/hostname",
  "zip -qT -jTT 'touch M;' ROOT/q2.zip /etc/hostname",
];

export const SPELLED_EVASIONS: readonly string[] = [...wrapped([...FORMS, ...SPOKEN]), ...OTHERS];

/** Code that `terminal(*)` alone does not allow: names of programs in plain sight are left to rules about them. */
export const SPELLED_CODE: readonly string[] = wrapped(
  [...FORMS, ...SPOKEN].filter((text) => !/touc\?|t\*uch|touch|second|far|t\?|seco/.test(text)),
);
