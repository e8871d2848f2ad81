# Completion of sous for bash 4 or newer. In ~/.bashrc: eval "$(sous completion bash)"

_sous_runs() {
  command sous replay --list --limit 30 --json 2>/dev/null | command sed -n 's/^ *"id": "\([0-9A-Z]*\)",*$/\1/p'
}

_sous_agents() {
  command sous agents list --json 2>/dev/null | command sed -n 's/^ *"name": "\([A-Za-z0-9][A-Za-z0-9._-]*\)",*$/\1/p'
}

_sous() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= offer=
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  # bash takes --color=always apart, into three words.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ $command == -p ]] && command=run
  if ((COMP_CWORD == 1)); then
    words="look again -p --help --version"
  else
    case "$command $before" in
      "look --file" | "look -f") offer=file ;;
      "look --colour") words="red green" ;;
      "look --count") return ;;
      "look near") offer=agent ;;
      "again --id") offer=run ;;
      *)
        case "$command" in
          look) words="--file --colour --count --help"; [[ $current == -* ]] || ((COMP_CWORD > 2)) || words="near far" ;;
          again) words="--id"; [[ $current == -* ]] || offer=run ;;
        esac
        ;;
    esac
  fi
  case $offer in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    run) words="last $(_sous_runs)" ;;
    agent) words="$(_sous_agents)" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sous sous
