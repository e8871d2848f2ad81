/**
 * Programs that run a program or code that their arguments or their input give. Help and not a boundary: a program that
 * is not listed here can do so, too.
 */

import type { KnownOptions } from "./programs.ts";

export type ProgramRow = {
  /** Names, separated by blanks. With a second word after a dot: only this subcommand, as in `git.clone`. */
  readonly programs: string;
  /** Completes the sentence "NAME …". */
  readonly does: string;
  /** Options of one letter, alone or among others behind one dash. Without any of these: always. */
  readonly letters?: string;
  /** Long options, with or without `=`; beginnings of them count, as most programs take them. */
  readonly long?: string;
  /** Whole words, also with `=` and more behind them. */
  readonly words?: string;
  /** Beginnings of words. */
  readonly begins?: string;
  /** Options of more letters, alone or among others behind one dash. */
  readonly pieces?: string;
  /** Long options may have any number of dashes. */
  readonly hasAnyDashes?: true;
};

export const RUNS = "runs what its arguments say";
export const CODE = "runs code that it is given";

/** They start a program as another user, on another machine, in another root, below another parent or later. */
const STARTERS =
  "sudo doas su runuser pkexec sg newgrp gosu su-exec run0 ksu setpriv capsh chroot unshare nsenter firejail bwrap " +
  "proot fakeroot fakechroot systemd-run systemd-nspawn machinectl lxc lxd incus distrobox toolbox flatpak snap " +
  "wine wsl ssh scp sftp rsh rlogin rexec mosh autossh dbclient plink sshpass ssh-agent pdsh clush setsid stdbuf " +
  "ionice chrt taskset numactl cgexec cpulimit prlimit setarch linux32 linux64 i386 x86_64 faketime catchsegv " +
  "torify torsocks proxychains proxychains4 rlwrap daemonize start-stop-daemon tini dumb-init s6-setuidgid " +
  "setuidgid softlimit setlock run-parts service strace ltrace gdb gdbserver lldb perf valgrind rr bpftrace dtrace " +
  "dtruss pexec script expect unbuffer screen tmux tmate zellij byobu dtach abduco xterm konsole kitty alacritty " +
  "gnome-terminal xfce4-terminal wezterm foot urxvt openvt parallel sem flock watch entr watchexec reflex chronic " +
  "ifne pee vidir vipe hyperfine multitime at batch crontab xdg-open open osascript launchctl run-mailcap see edit " +
  "explorer cross-env cross-env-shell dotenv dotenvx concurrently npm-run-all run-s run-p nodemon foreman " +
  "honcho direnv mise rtx asdf nvm fnm volta rbenv pyenv nodenv nix nix-shell guix devbox corepack ansible " +
  "ansible-playbook ansible-console salt salt-call puppet chef-client knife fab vagrant socat nc ncat netcat " +
  "openvpn aria2c certbot restic borg distcc msgfilter capistrano choom debconf mispipe lckdo zrun niceload " +
  "eatmydata ccache sccache dbus-run-session dbus-launch gpg-agent xvfb-run just conda mamba micromamba " +
  "systemd-inhibit octave-cli slogin editor sensible-editor xdotool tsocks";

/**
 * Editors, pagers and consoles take commands, many of which begin with an exclamation mark. Interpreters here are seldom
 * given a file; the others are in `programs.ts`.
 */
const INTERPRETERS =
  "vi vim nvim view vimdiff rvim rview gvim ex ed red emacs emacsclient nano pico joe micro hx kak vipw vigr visudo " +
  "less more most pg man info lynx w3m mutt mail mailx ftp lftp ncftp smbclient mysql mariadb psql sqlite3 sqlite " +
  "duckdb mongosh mongo redis-cli msfconsole gnuplot dc tclsh wish awk gawk mawk nawk goawk jshell jrunscript jjs " +
  "groovysh ghci irb pry erl iex ipython ipython3 bconsole byebug pdb jupyter julia octave maxima sage R sbcl clisp " +
  "ecl guile racket gforth m4 latex pdflatex xelatex lualatex tex xetex luatex latexmk gs ghostscript troff groff";

/** Names of these that are everyday words, too: `gh pr edit`, `kubectl config view`. */
export const COMMON_WORDS: ReadonlySet<string> = words(
  "at batch dc ed edit editor ex expect info just less mail more most open perf pg r screen script see service view watch",
);

export const PROGRAM_ROWS: readonly ProgramRow[] = [
  { programs: STARTERS, does: RUNS },
  { programs: INTERPRETERS, does: CODE },
  { programs: "busybox toybox coreutils", does: "is many programs in one" },
  // Options.
  { programs: "rustup", does: RUNS, words: "run" },
  { programs: "ghc", does: CODE, letters: "e" },
  { programs: "diff3 sdiff", does: RUNS, long: "diff-program" },
  { programs: "prove", does: RUNS, letters: "e", long: "exec" },
  { programs: "dpkg-architecture", does: RUNS, letters: "c" },
  { programs: "pylint", does: CODE, long: "init-hook load-plugins" },
  { programs: "mypy", does: RUNS, long: "python-executable" },
  {
    programs: "find gfind",
    does: "starts or deletes with these",
    words: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls",
  },
  { programs: "fd fdfind", does: "starts a program for each file", letters: "xX", long: "exec exec-batch" },
  { programs: "rg ripgrep", does: "starts a program for each file", long: "pre hostname-bin" },
  {
    programs: "tar gtar bsdtar star",
    does: RUNS,
    letters: "IF",
    long: "to-command checkpoint-action use-compress-program info-script new-volume-script rsh-command rmt-command",
  },
  { programs: "cpio", does: RUNS, long: "rsh-command" },
  { programs: "zip", does: RUNS, pieces: "TT", long: "unzip-command" },
  { programs: "unzip 7z", does: RUNS, begins: "-TT" },
  { programs: "sort gsort", does: RUNS, long: "compress-program" },
  { programs: "split gsplit csplit", does: RUNS, long: "filter" },
  { programs: "install ginstall", does: RUNS, long: "strip-program" },
  { programs: "rsync", does: RUNS, letters: "e", long: "rsh rsync-path" },
  { programs: "wget", does: RUNS, letters: "e", long: "execute use-askpass" },
  { programs: "curl", does: "reads options from a file", letters: "K", long: "config" },
  { programs: "cmake ctest cpack", does: RUNS, words: "-E" },
  {
    programs: "gcc g++ cc c++ c89 c99 clang clang++ gfortran tcc",
    does: RUNS,
    begins: "-wrapper -fplugin -specs --specs -Xclang -load -B @",
  },
  { programs: "go", does: RUNS, words: "-exec --exec -toolexec --toolexec -vettool --vettool tool" },
  { programs: "cargo rustc", does: RUNS, letters: "C", long: "config codegen" },
  { programs: "java", does: RUNS, begins: "-XX:OnError -XX:OnOutOfMemoryError -javaagent -agent @" },
  { programs: "mvn mvnw", does: RUNS, begins: "exec: groovy: -Dexec." },
  { programs: "gradle gradlew", does: RUNS, letters: "I", long: "init-script" },
  { programs: "rake", does: CODE, letters: "ep", long: "execute execute-print execute-continue" },
  { programs: "rails", does: CODE, words: "runner r console c dbconsole" },
  { programs: "cabal stack dune", does: RUNS, words: "exec run runghc repl" },
  { programs: "mix", does: CODE, letters: "e", long: "eval" },
  { programs: "gem", does: RUNS, words: "exec open" },
  { programs: "composer", does: RUNS, words: "exec" },
  { programs: "pandoc", does: RUNS, letters: "FL", long: "filter lua-filter" },
  { programs: "svn", does: RUNS, long: "diff-cmd diff3-cmd editor-cmd config-option" },
  { programs: "hg", does: RUNS, letters: "e", long: "config debugger ssh", words: "bisect" },
  { programs: "gpg gpg2", does: RUNS, long: "exec-path photo-viewer agent-program" },
  { programs: "tcpdump", does: RUNS, letters: "z" },
  { programs: "ip", does: RUNS, words: "netns vrf" },
  { programs: "kubectl oc", does: RUNS, words: "exec run debug attach plugin cp" },
  { programs: "helm", does: RUNS, long: "post-renderer" },
  { programs: "docker podman nerdctl", does: RUNS, words: "exec run start attach buildx" },
  { programs: "docker-compose", does: RUNS, words: "exec run" },
  { programs: "gh", does: "keeps commands for later", words: "alias extension ext config" },
  { programs: "pip pip3", does: RUNS, long: "python editor" },
  { programs: "rpm rpmbuild dpkg", does: RUNS, letters: "E", long: "eval pipe pre-invoke post-invoke" },
  {
    programs: "apt apt-get apt-cache aptitude yum dnf zypper apk",
    does: RUNS,
    letters: "oc",
    long: "option config-file",
  },
  { programs: "pytest py.test", does: "loads code that it is given", long: "pdbcls" },
  { programs: "exiftool", does: CODE, words: "-if -p -api -config" },
  { programs: "systemctl journalctl timedatectl", does: "starts an editor or a pager", words: "edit" },
  // Subcommands.
  {
    programs: "npm",
    does: RUNS,
    long: "script-shell shell node-options shell-mode git editor viewer browser userconfig globalconfig",
    hasAnyDashes: true,
  },
  { programs: "npm.config npm.set", does: "changes what later commands do" },
  { programs: "git.clone", does: RUNS, letters: "uc", long: "upload-pack config template" },
  { programs: "git.init", does: "copies hooks", long: "template" },
  { programs: "git.fetch git.ls-remote", does: RUNS, long: "upload-pack exec" },
  { programs: "git.pull", does: RUNS, letters: "s", long: "upload-pack strategy" },
  { programs: "git.push git.archive", does: RUNS, long: "receive-pack exec" },
  { programs: "git.rebase", does: RUNS, letters: "xis", long: "exec interactive strategy edit-todo" },
  { programs: "git.merge", does: "may start a merge program", letters: "s", long: "strategy" },
  { programs: "git.cherry-pick git.revert git.stash", does: "may start a merge program", long: "strategy" },
  { programs: "git.bisect", does: RUNS, words: "run visualize view" },
  { programs: "git.grep", does: RUNS, letters: "O", long: "open-files-in-pager" },
  {
    programs:
      "git.log git.diff git.show git.blame git.format-patch git.shortlog git.rev-list git.reflog git.whatchanged git.diff-tree git.diff-index git.diff-files",
    does: "starts a program or writes a file",
    long: "ext-diff textconv output",
  },
  { programs: "git.cat-file", does: RUNS, long: "textconv filters" },
];

/** The options may come before the subcommand. */
type Subcommands = KnownOptions & { readonly known: ReadonlySet<string> };

/** Programs whose first word decides. A word not listed may be an alias, a plugin, or a program of the project. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommands>> = {
  git: {
    known: words(
      "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick " +
        "clean clone commit count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc " +
        "grep hash-object init log ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev notes prune pull push " +
        "range-diff read-tree rebase reflog remote repack replace reset restore rev-list rev-parse revert rm shortlog show " +
        "show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref version whatchanged " +
        "worktree write-tree",
    ),
    options: /^(?:--no-pager|-P|--no-optional-locks|--literal-pathspecs|--version|-v)$/,
    withValue: /^-C$/,
  },
  npm: {
    known: words(
      "access audit cache ci config dedupe deprecate diff dist-tag doctor explain fund get i info init install " +
        "install-ci-test install-test link list ll login logout ls org outdated owner pack ping pkg prefix profile prune " +
        "publish query rebuild restart rm root run run-script search set show shrinkwrap star stars start stop t team " +
        "test token tst un uninstall unpublish unstar up update version view whoami why",
    ),
    options: /^(?:--silent|-s|--version|-v|--help|-h|--workspaces|-ws|--prefix=.*)$/,
    withValue: /^(?:--prefix|-w|--workspace)$/,
  },
};

/** Programs that start none of their arguments with these subcommands. Another one is a program of its name. */
export const OWN_COMMANDS: Readonly<Record<string, ReadonlySet<string>>> = {
  cargo: words(
    "add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install " +
      "locate-project login logout metadata miri new owner package pkgid publish r remove report rm run rustc rustdoc " +
      "search t test tree uninstall update vendor version yank",
  ),
};

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
