export const fishScript = `# fish completion of pbnj-worker, from: pbnj-worker completion fish
function __pbnj_worker_complete
    set -l words (commandline -opc)
    # As it is meant, not as it is quoted; an open quote is left out.
    set -l token (commandline -ct)
    set -l current (string unescape -- $token; or string replace -r -- '^["\\']' '' $token)
    set -l program $words[1]
    set -e words[1]
    command -q -- $program; or set program pbnj-worker
    set -l answer (command $program complete fish -- $words "$current" 2>/dev/null </dev/null)
    set -l kind $answer[1]
    set -e answer[1]
    test (count $answer) -gt 0; and printf '%s\\n' $answer
    set -l flag (string match -r -- '^--[^=]+=' $current)
    set -l path (string replace -r -- '^--[^=]+=' '' $current)
    switch "$kind"
        case files
            __fish_complete_path $path | string replace -r '^' -- "$flag"
        case folders
            __fish_complete_directories $path | string replace -r '^' -- "$flag"
    end
end
complete -c pbnj-worker -f -k -a '(__pbnj_worker_complete)'
`;
