# The bash completion, asked as bash asks it.
. "$(dirname "$0")/lib.sh"

# complete_line WORD...: what is offered for the last word, sorted, in one line.
complete_line() {
	bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_tracelet tracelet "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$source/docs/completion/tracelet.bash" "$@" 2>&1 |
		sort | tr '\n' ' ' | sed 's/ $//'
}

touch a.pb b.spool 'with space.pb'
mkdir folder
printf '#!/bin/sh\n' >our-test-program
chmod +x our-test-program
export PATH=$PATH:$work

check_equal "a verb" "check" "$(complete_line tracelet che)"
verbs=$("$TRACELET" --help | sed -n '/^Verbs/,$s/^  \([a-z][a-z-]*\) .*/\1/p')
check_equal "all verbs and the program's own options" "$(printf '%s\n' --help --version help $verbs | LC_ALL=C sort | xargs)" \
	"$(complete_line tracelet '')"
check_equal "help takes a verb" "doctor" "$(complete_line tracelet help do)"
check_equal "an option of run" "--wait-tree" "$(complete_line tracelet run --w)"
check_equal "an option of each" "--fail-on-leak --filter --framework" "$(complete_line tracelet each --f)"
check_equal "a framework" "catch2 catch2-3 cmocka ctest" "$(complete_line tracelet each --framework c)"
check_equal "a test program" "our-test-program" "$(complete_line tracelet each -j 2 -- our-test-)"
check_equal "convert has its own options" "--from --help --manifest --merge --output --to" "$(complete_line tracelet convert --)"
check_equal "an option of stat" "--per-core --per-test --per-thread" "$(complete_line tracelet stat --per)"
check_equal "stat's command" "our-test-program" "$(complete_line tracelet stat -e cycles -- our-test-)"
check_equal "stat's own words" "detect" "$(complete_line tracelet stat d)"
check_equal "doctor has none of run's" "" "$(complete_line tracelet doctor --name)"
check_equal "a scope" "system tree" "$(complete_line tracelet run --scope '')"
check_equal "a scope after an equals sign, as bash splits it" "tree" "$(complete_line tracelet run --scope = t)"
check_equal "right after the equals sign" "system tree" "$(complete_line tracelet run --scope =)"
check_equal "the output folder is a folder" "folder" "$(complete_line tracelet run --output-dir '')"
check_equal "a profile" "memory" "$(complete_line tracelet run --profile m)"
check_equal "what a profile can be asked" "check export list show" "$(complete_line tracelet profile '')"
check_equal "nothing to offer for a number" "" "$(complete_line tracelet run --duration '')"
check_equal "check takes traces and folders" "a.pb folder with space.pb" "$(complete_line tracelet check '')"
check_equal "convert takes any file" "b.spool" "$(complete_line tracelet convert b)"
check_equal "info has few options" "--help --json --manifest" "$(complete_line tracelet info --)"
check_equal "nothing to offer for a time" "" "$(complete_line tracelet dump --from '')"
check_equal "a format" "perfetto" "$(complete_line tracelet convert --to per)"
check_equal "after -- a command" "our-test-program" "$(complete_line tracelet run -- our-test-)"
check_equal "after options and -- too" "our-test-program" \
	"$(complete_line tracelet run --name x --quiet -- our-test-)"
check_equal "the command's arguments are files" "a.pb" "$(complete_line tracelet run -- our-test-program a)"
check_equal "an option of the command is not ours" "" "$(complete_line tracelet run -- our-test-program --na)"
check_equal "a name called -- does not begin the command" "--name" \
	"$(complete_line tracelet run --name -- --na)"

check "bash is told about it" bash --norc -c '. "$1" && complete -p tracelet' bash \
	"$source/docs/completion/tracelet.bash"

done_testing
