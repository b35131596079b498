# The bash completion, called the way bash does.
. "$(dirname "$0")/lib.sh"

completion=$(dirname "$TRACELET")/docs/completion/tracelet

# complete_line WORD...: what is offered for the last word, sorted, in one line.
complete_line() {
	bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_tracelet tracelet "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@" 2>&1 |
		sort | tr '\n' ' ' | sed 's/ $//'
}

touch a.pb b.spool 'with space.pb'
mkdir folder
printf '#!/bin/sh\n' >our-test-program
chmod +x our-test-program
export PATH=$PATH:$work

check_equal "a verb" "check" "$(complete_line tracelet che)"
verbs=$("$TRACELET" help --verbs | cut -f 1)
check_equal "all verbs and the program's own options" "$(printf '%s\n' --help --version help $verbs | LC_ALL=C sort | xargs)" \
	"$(complete_line tracelet '')"
check_equal "help takes a verb" "doctor" "$(complete_line tracelet help do)"
check_equal "or a family" "machines" "$(complete_line tracelet help mac)"
check_equal "an option of run" "--wait-tree" "$(complete_line tracelet run --wait-)"
check_equal "an option of each" "--fail-on-leak --filter --framework" "$(complete_line tracelet each --f)"
check_equal "a framework" "catch2 catch2-3 cmocka cpputest ctest" "$(complete_line tracelet each --framework c)"
check_equal "a test program" "our-test-program" "$(complete_line tracelet each -j 2 -- our-test-)"
check_equal "convert has its own options" "--buildid-dir --from --help --kallsyms --manifest --manifest-dir --max-unpacked --merge --output --quiet --symbol-path --symfs --to --vmlinux" "$(complete_line tracelet convert --)"
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
check_equal "an option whose value may be missing does not take the next word" "--name" "$(complete_line tracelet run --sample --na)"
check_equal "a short option has the values of the long one" "b.spool" "$(complete_line tracelet fold -o b)"
check_equal "of a verb's own option, too" "self" "$(complete_line tracelet top --sort s)"
check_equal "nothing to offer for a number" "" "$(complete_line tracelet run --duration '')"
check_equal "check takes traces and folders" "a.pb folder with space.pb" "$(complete_line tracelet check '')"
check_equal "convert takes any file" "b.spool" "$(complete_line tracelet convert b)"
check_equal "info has few options" "--buildid-dir --help --json --kallsyms --manifest --manifest-dir --max-unpacked --symbol-path --symfs --vmlinux" "$(complete_line tracelet info --)"
check_equal "nothing to offer for a time" "" "$(complete_line tracelet dump --from '')"
check_equal "a format" "perfetto" "$(complete_line tracelet convert --to per)"
check_equal "after -- a command" "our-test-program" "$(complete_line tracelet run -- our-test-)"
check_equal "after options and -- too" "our-test-program" \
	"$(complete_line tracelet run --name x --quiet -- our-test-)"
check_equal "the command's arguments are files" "a.pb" "$(complete_line tracelet run -- our-test-program a)"
check_equal "an option of the command is not ours" "" "$(complete_line tracelet run -- our-test-program --na)"
check_equal "a name called -- does not begin the command" "--name" \
	"$(complete_line tracelet run --name -- --na)"

check "it is registered with bash" bash --norc -c '. "$1" && complete -p tracelet' bash \
	"$completion"

check_equal "a command in a guest" "our-test-program" "$(complete_line tracelet guest unix:x run -- our-test-pr)"

# Each branch for an option or a kind of value is about one that there is.
branches=$(sed -nE '/case \$verb:\$1 in/,/^	\*\)$/p' "$source/docs/completion/tracelet.bash.in" | grep -oE '[a-z*-]+:--?[a-z-]+' | tr : ' ')
kinds=$(sed -nE '/case \$value in/,/esac/p' "$source/docs/completion/tracelet.bash.in" | grep -oE '^[^)"]+\)' | tr -d ')' | tr '|' '\n' | xargs -d '\n' -n 1)
dead=$(bash --norc -f -c '
	. "$1"
	while read -r verb option; do
		found=
		for key in "${!_tracelet_values[@]}"; do
			[[ $key != $verb" "$option ]] || found=yes
		done
		[ -n "$found" ] || echo "$verb $option"
	done <<<"$2"
	while read -r kind; do
		found=
		for value in "${_tracelet_values[@]}"; do
			[[ $value != $kind ]] || found=yes
		done
		[ -n "$found" ] || echo "$kind"
	done <<<"$3"' bash "$completion" "$branches" "$kinds")
check "there are branches" test "$(wc -l <<<"$branches")" -ge 10
check_equal "none is dead" "" "$dead"

# ---- zsh and fish ----

folder=$(dirname "$completion")
if command -v fish >/dev/null; then
	# fish_line LINE: what is offered at its end.
	fish_line() {
		HOME=$work fish --no-config -c "source $folder/tracelet.fish; complete -C \"$1\"" 2>&1
	}
	check_equal "fish: a verb, with its summary" "doctor" "$(fish_line 'tracelet doc' | cut -f 1)"
	check_match "fish: options of a verb" '^--scope' <(fish_line 'tracelet run --sco')
	check_equal "fish: values" "system tree" "$(fish_line 'tracelet run --scope ' | cut -f 1 | sort | xargs)"
	check_equal "fish: none of run's options for doctor" "" "$(fish_line 'tracelet doctor --sco')"
else
	skip "fish" "there is no fish here"
fi
if command -v zsh >/dev/null; then
	check "zsh: the completion is a script" zsh -f -n "$folder/_tracelet"
	# zsh_options VERB: with what _arguments gets.
	zsh_options() {
		zsh -f -c "
			_arguments() { shift; print -l -- \$@; }
			_describe() { print -l -- \$verbs; }
			compdef() { :; }
			source $folder/_tracelet
			words=(tracelet $1 x) CURRENT=$2
			_tracelet" 2>&1
	}
	check_match "zsh: verbs" '^doctor:' <(zsh_options '' 2)
	check_match "zsh: options of a verb" '^\*--scope=\[.*\]:SCOPE:\(tree system\)|^\*--scope=\[.*(tree system)' <(zsh_options run 3)
	check_not "zsh: none of run's options for doctor" grep -q -- --scope <(zsh_options doctor 3)
else
	skip "zsh" "there is no zsh here"
fi
done_testing
