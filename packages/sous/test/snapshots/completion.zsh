#compdef sous
# Completion of sous for zsh. In ~/.zshrc, after compinit: eval "$(sous completion zsh)"

_sous_runs() {
  local -a runs
  runs=(last ${(f)"$(command sous replay --list --limit 30 --json 2>/dev/null | command sed -n 's/^ *"id": "\([0-9A-Z]*\)",*$/\1/p')"})
  compadd -a runs
}

_sous_agents() {
  local -a agents
  agents=(${(f)"$(command sous agents list --json 2>/dev/null | command sed -n 's/^ *"name": "\([A-Za-z0-9][A-Za-z0-9._-]*\)",*$/\1/p')"})
  compadd -a agents
}

_sous() {
  local -a commands
  commands=(
    'look:look at one thing: don'\''t touch [it]'
    'again:the same once more'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
    look)
      _arguments \
        '(-f --file)'{-f,--file}'[a file\: this one]:FILE:_files' \
        '--colour[don'\''t \[look\]]:FORMAT:(red green)' \
        '--count[at most N]:N: ' \
        '(-h --help)'{-h,--help}'[this text]' \
        '1:word:(near far)' \
        '*:word:{ case $words[2] in near) _sous_agents ;; esac }'
      ;;
    again)
      _arguments \
        '--id[this one]:ID:_sous_runs' \
        '*:word:_sous_runs'
      ;;
  esac
}

if [[ $funcstack[1] == _sous ]]; then
  _sous "$@"
else
  compdef _sous sous
fi
