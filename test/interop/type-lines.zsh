# Types each line of stdin into an interactive shell, $1, and presses TAB at its end. Prints, a line each:
# what zsh offered ("  word", as it would be inserted), and what the line became ("=> line").
emulate -R zsh
zmodload zsh/zpty
folder=$(mktemp -d)
export REPORT=$folder/report

cat > $folder/zsh <<'RC'
PS1= PS2= TERM=dumb
unsetopt zle_bracketed_paste beep list_beep
autoload -Uz compinit && compinit -u -D
source <(pbnj-worker completion zsh)
# What completion functions add is asked for as they do it; calls that only fill their own arrays are left out.
compadd() {
  local -a offered
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A offered "$@"
    (( $#offered )) && print -rl -- "  "$^offered >> $REPORT
  fi
  builtin compadd "$@"
}
press-tab() {
  zle list-choices
  print -r -- '--' >> $REPORT
  zle complete-word
  print -r -- "=> $BUFFER" >> $REPORT
  BUFFER=
  print '<typed>'
}
zle -N press-tab
bindkey '^T' press-tab
print '<ready>'
RC

cat > $folder/bash <<'RC'
PS1=
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
source <(pbnj-worker completion bash)
report() {
  printf -- '--\n=> %s\n' "$READLINE_LINE" >> "$REPORT"
  READLINE_LINE=
  echo '<typed>'
}
bind -x '"\C-t": report'
echo '<ready>'
RC

case $1 in
  zsh) zpty shell zsh -f -i && keys=$'\x14' ;;
  bash) zpty shell bash --norc -i && keys=$'\t\x14' ;;
esac
zpty -w shell "source $folder/$1"
zpty -r -m shell seen '*<ready>*'
while IFS= read -r line; do
  : > $REPORT
  zpty -n -w shell "$line$keys"
  zpty -r -m shell seen '*<typed>*'
  # zsh asks again when it completes; the first list is the whole.
  sed '/^--$/,/^=>/{/^=>/!d}' $REPORT
done
zpty -d shell
rm -r $folder
