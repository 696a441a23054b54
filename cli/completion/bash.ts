/** The script also works with bash 3.2 of macOS, where missing features fail silently. */
export const bashScript = `# bash completion of pbnj-worker, from: pbnj-worker completion bash
_pbnj_worker() {
  local program kind= value
  COMPREPLY=()
  program=$(type -P -- "\${COMP_WORDS[0]/#\\~\\//$HOME/}") || program=pbnj-worker
  {
    IFS= read -r kind
    while IFS= read -r value; do COMPREPLY+=("$value"); done
  } < <("$program" complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
  case $kind in
    files) compopt -o default 2>/dev/null ;;
    folders) compopt -o dirnames 2>/dev/null ;;
  esac
}
complete -o nosort -F _pbnj_worker pbnj-worker 2>/dev/null || complete -F _pbnj_worker pbnj-worker
`;
