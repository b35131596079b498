# Help, version and answers to mistyped words; and that the parser, the help, the manual and the
# completion have the same options for each verb.
. "$(dirname "$0")/lib.sh"

manual=$(dirname "$TRACELET")/docs/tracelet.1.scd
completion=$(dirname "$TRACELET")/docs/completion/tracelet

check_run "--help exits with 0" 0 "$TRACELET" --help
check_lines "and is silent on stderr" 0 "$stderr"
cp "$stdout" help
check_equal "a newcomer sees five verbs first" "run each why report doctor" \
	"$(sed -n '/^Start with/,/^$/s/^  \([a-z-]*\) .*/\1/p' help | xargs)"
"$TRACELET" help --verbs >verbs
cut -f 1 verbs >names
check_equal "all verbs are in it, in the same order" "$(xargs <names)" \
	"$(sed -n '/^All verbs/,/^$/s/^          *\([a-z]\)/\1/p' help | tr -d ',' | xargs)"
check "in the order of their families" cmp <(cut -f 2 verbs | uniq) <(cut -f 2 verbs | awk '!seen[$0]++')
for family in $(cut -f 2 verbs | uniq); do
	check_match "$family is a family" "^  $family +[a-z]" help
	check_run "help $family exits with 0" 0 "$TRACELET" help "$family"
	check_equal "and describes its verbs" "$(awk -F '\t' -v family="$family" '$2 == family { print $1 }' verbs | xargs)" \
		"$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' "$stdout" | xargs)"
done

# ---- a verb's options: in getopt, in the help, in the completion, in the manual ----

# answer OPTION: the parser's answer to it; --no-such-option keeps the verb from doing anything.
answer() {
	# shellcheck disable=SC2086
	"$TRACELET" $words "$1=x" --no-such-option 2>&1
}

# accepted: the options that getopt knows: listed ones that it does not reject, and all that it
# names where a letter is ambiguous. If one option begins with a letter, it must be a listed one.
accepted() {
	local letter option said
	while IFS= read -r option; do
		answer "$option" | grep -q "unrecognized option '$option=x'" || echo "$option"
	done <listed
	for letter in {a..z}; do
		said=$(answer "--$letter")
		case $said in
		*"unrecognized option '--$letter=x'"*) ;;
		*"'--$letter=x' is ambiguous"*) grep -oE "'--[a-z-]+'" <<<"$said" | tr -d "'" | grep -vx -e '--no-such-option' ;;
		*) [ "$(grep -c -e "^--$letter" listed)" = 1 ] || echo "--$letter..." ;;
		esac
	done
}

# of_manual NAME: the options in the manual's list for a verb, or for all verbs about samples.
of_manual() {
	awk -v name="$1" '
		/^; options of / { inside = 0; for (i = 4; i <= NF; i++) inside = inside || $i == name }
		/^; end/ { inside = 0 }
		inside && /^\*-/ { match($0, /--[a-z-]+/); print substr($0, RSTART, RLENGTH) }' "$manual"
}

# Options of flamegraph.pl, accepted but not documented.
hidden="--color --deterministic --encoding --hash --minwidth --nametype --notes"

"$TRACELET" help --options >options
bash --norc -c '. "$1" && for verb in "${!_tracelet_options[@]}"; do
	for option in ${_tracelet_options[$verb]}; do echo "$verb $option"; done; done' bash "$completion" >completed
while IFS= read -r verb; do
	check_run "$verb --help exits with 0" 0 "$TRACELET" "$verb" --help
	check_match "it names itself on stdout" "tracelet $verb" "$stdout"
	check_lines "and is silent on stderr" 0 "$stderr"
	check_not "no line is too wide" grep -q '.\{97\}' "$stdout"
	cp "$stdout" "help-$verb"
	check_run "help $verb says the same" 0 "$TRACELET" help "$verb"
	check "word for word" cmp "$stdout" "help-$verb"
	check_run "$verb --no-such-option is bad usage" 2 "$TRACELET" "$verb" --no-such-option
	check_lines "nothing on stdout" 0 "$stdout"

	words=$verb # before the options
	[ "$verb" != vm ] || words="vm run"
	sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' "help-$verb" >listed
	of_manual "$verb" >described
	echo --help >>described # in OTHER OPTIONS
	if grep -q "All options of 'tracelet run'" "help-$verb"; then
		sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' help-run >>listed
		of_manual run >>described
	fi
	if [ "$(awk -F '\t' -v verb="$verb" '$1 == verb && $2 == "samples"' options | wc -l)" -gt 0 ]; then
		of_manual samples >>described
	fi
	sort -u -o listed listed
	check_equal "$verb: the help lists its options" "$(awk -F '\t' -v verb="$verb" '$1 == verb { print $3 }' options | sort | xargs)" \
		"$(xargs <listed)"
	check_equal "$verb: getopt takes these" "$(xargs <listed)" \
		"$(accepted | grep -vxF -e "$([ "$verb" != flame ] || printf '%s\n' $hidden)" | sort -u | xargs)"
	check_equal "$verb: the completion offers these" "$(xargs <listed)" \
		"$(awk -v verb="$verb" '$1 == verb { print $2 }' completed | sort | xargs)"
	check_equal "$verb: the manual has these" "$(xargs <listed)" "$(sort -u described | xargs)"
done <names
check_equal "the manual's synopsis has all verbs" "$(xargs <names)" \
	"$(sed -nE '/^# SYNOPSIS/,/^# DESCRIPTION/s/^\*tracelet ([a-z-]+)\*.*/\1/p' "$manual" | grep -vx -e help -e --version | uniq | xargs)"
for verb in $(cat names); do
	sed -n '/^$/q; s/^Usage://; s/^ *tracelet //p' "help-$verb" >forms
	sed -nE "/^# SYNOPSIS/,/^# DESCRIPTION/s/^\*tracelet ($verb\*.*)\+\+\$/\1/p" "$manual" | tr -d '*_' >marked
	check_equal "$verb: with the forms in its help" "$(tr -d '_-' <forms | tr '[:upper:]' '[:lower:]')" \
		"$(tr -d '-' <marked | tr '[:upper:]' '[:lower:]')"
done
check_match "the manual has --help" '^\*--help\*' "$manual"
check_match "and --version" '^\*--version\*' "$manual"

check_run "--version exits with 0" 0 "$TRACELET" --version
check_match "and prints name and version" '^tracelet [0-9]+\.[0-9]+\.[0-9]+( \([0-9a-f]{7,}\))?$' "$stdout"
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
