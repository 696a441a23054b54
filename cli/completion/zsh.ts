/** The script works as a file `_pbnj-worker` in `fpath`, or with `source` after `compinit`. */
export const zshScript = `#compdef pbnj-worker
# zsh completion of pbnj-worker, from: pbnj-worker completion zsh
_pbnj-worker() {
  local program=\${(Q)words[1]} line word
  local -a answer candidates
  (( $+commands[$program] )) || [[ -x $program ]] || program=pbnj-worker
  answer=("\${(@f)$("$program" complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "\${(@)answer[2,-1]}"; do
    # The first colon that is not escaped ends the word.
    word=\${\${\${line%%$'\\t'*}//\\\\/\\\\\\\\}//:/\\\\:}
    [[ $line == *$'\\t'* ]] && word+=:\${line#*$'\\t'}
    candidates+=("$word")
  done
  local added=1
  (( $#candidates )) && _describe -V 'pbnj-worker' candidates && added=0
  case $answer[1] in
    files | folders)
      [[ $PREFIX == --*=* ]] && compset -P 1 '*='
      if [[ $answer[1] == files ]]; then _files && added=0; else _files -/ && added=0; fi
      ;;
  esac
  return added
}
if [[ $funcstack[1] == _pbnj-worker ]]; then
  _pbnj-worker "$@"
else
  compdef _pbnj-worker pbnj-worker
fi
`;
