/** Programs that start other programs, or change what a name means: to allow them is to allow whatever they are given. */

const SHELLS = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd".split(" "));

/** They read the rest of a command from somewhere else. */
const TAKE_MORE = new Set(["xargs", "parallel"]);

const RUNNERS = new Set(
  [
    ...SHELLS,
    ...TAKE_MORE,
    "env sudo doas su runuser pkexec chroot unshare nsenter setpriv firejail bwrap systemd-run",
    "timeout nohup time nice ionice chrt taskset setsid stdbuf script expect unbuffer flock watch entr at batch",
    "strace ltrace gdb perf valgrind ssh busybox toybox",
    "eval exec command builtin source . trap alias unalias hash enable export declare typeset readonly local set shopt",
    "npx bunx pnpx uvx pipx corepack",
  ].flatMap((names) => names.split(" ")),
);

/** The second word makes it so. */
const RUNNING_WORDS = new Set(
  "npm exec,npm x,npm explore,pnpm exec,pnpm dlx,yarn exec,yarn dlx,bun x,git submodule,docker exec,docker run".split(
    ",",
  ),
);

/** Programs that take a program as an argument. */
const INTERPRETERS = new Set(
  "python python3 node deno bun perl ruby php lua awk gawk mawk nawk tclsh osascript".split(" "),
);

export function isRunner(words: readonly string[]): boolean {
  const [program = "", ...rest] = words;
  const name = programName(program);
  if (RUNNERS.has(name)) return true;
  if (name === "find" || name === "fd" || name === "fdfind") return rest.some((word) => FIND_ACTION.test(word));
  if (INTERPRETERS.has(name)) return name.endsWith("awk") || rest.some((word) => CODE_OPTION.test(word));
  return subcommands(rest).some((word) => RUNNING_WORDS.has(`${name} ${word}`));
}

/** The first word that is no option, and those before it that may be the value of one. */
function subcommands(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word, index) => !word.startsWith("-") && !words[index - 1]?.startsWith("-"));
  return first === -1 ? words : words.slice(0, first + 1);
}

const FIND_ACTION = /^-(?:exec|execdir|ok|okdir|delete|fprint.*|fls|x|X)$|^--exec/;
const CODE_OPTION = /^-[A-Za-z]*[ceEpr]|^--(?:eval|print|require|import|run)|^eval$/;

/** True for a shell that is given no file and no text: what it does comes through a pipe. */
export function isShellOnInput([program = "", ...rest]: readonly string[]): boolean {
  return SHELLS.has(programName(program)) && rest.every((word) => /^-(?!.*c)/.test(word));
}

/** True for a program that puts more words behind those it was given. */
export function takesMore(program: string): boolean {
  return TAKE_MORE.has(programName(program));
}

/** Without its folder and the ending Windows gives it, in small letters. */
export function programName(word: string): string {
  return word
    .slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1)
    .toLowerCase()
    .replace(/\.exe$/, "");
}
