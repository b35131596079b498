# Help, version and the words for those who mistype; and that help, manual and
# completion know the same options.
. "$(dirname "$0")/lib.sh"

# options FILE...: every --long-option named in it, sorted.
options() {
	grep -ohE -e '--[a-z][a-z-]+' "$@" | sort -u
}

manual=$source/docs/tracelet.1.scd
completion=$source/docs/completion/tracelet.bash

check_run "--help exits with 0" 0 "$TRACELET" --help
check_lines "and is silent on stderr" 0 "$stderr"
cp "$stdout" help

for verb in $(sed -n '/^Verbs/,$s/^  \([a-z][a-z-]*\) .*/\1/p' help); do
	check_run "$verb --help exits with 0" 0 "$TRACELET" "$verb" --help
	check_match "it names itself on stdout" "tracelet $verb" "$stdout"
	check_lines "and is silent on stderr" 0 "$stderr"
	cp "$stdout" "help-$verb"
	check_run "help $verb says the same" 0 "$TRACELET" help "$verb"
	check "word for word" cmp "$stdout" "help-$verb"

	check_run "$verb --no-such-option is bad usage" 2 "$TRACELET" "$verb" --no-such-option
	check_lines "nothing on stdout" 0 "$stdout"
done

options help-* >in-help
sed 's/\\//g' "$manual" >manual.txt
options manual.txt >in-manual
options "$completion" >in-completion
echo --version >>in-help
sort -u -o in-help in-help
check_equal "the manual has every option of the help, and no other" "" \
	"$(comm -3 --output-delimiter='only in the manual: ' in-help in-manual)"
check_equal "so has the completion" "" \
	"$(comm -3 --output-delimiter='only in the completion: ' in-help in-completion)"

check_run "--version exits with 0" 0 "$TRACELET" --version
check_match "and tells name and version" '^tracelet [0-9]+\.[0-9]+\.[0-9]+$' "$stdout"
check_lines "in one line" 1 "$stdout"

check_run "an unknown verb is bad usage" 2 "$TRACELET" no-such-verb
check_lines "one line on stderr" 1 "$stderr"
check_match "names it" "no-such-verb" "$stderr"
check_lines "nothing on stdout" 0 "$stdout"

check_run "no verb at all is bad usage" 2 "$TRACELET"
check_match "the help is on stderr" '^Usage:' "$stderr"
check_lines "nothing on stdout" 0 "$stdout"

check_run "run without a command is bad usage" 2 "$TRACELET" run
check_lines "nothing on stdout" 0 "$stdout"
check_not "and leaves no folder" test -e tracelet-out

done_testing
