# Every option is a flag, a variable and a line in a file; the first of these wins.
. "$(dirname "$0")/lib.sh"

mkdir -p home/.config/tracelet project/.git project/sub empty
export HOME=$PWD/home
unset XDG_CONFIG_HOME CI $(env | sed -n 's/^\(TRACELET_[A-Z_]*\|OPENVMM_[A-Z_]*\)=.*/\1/p')

# setting NAME: its value and where it comes from, here and now.
setting() {
	"$TRACELET" settings --json | jq -r --arg name "$1" '.[$name] | "\(.value)|\(.from)"'
}

cd project/sub || exit
check_equal "a default" "tree|default" "$(setting scope)"
check_equal "the built-in profile" "default|default" "$(setting profile)"

echo 'scope = system' >"$HOME/.config/tracelet/tracelet.ini"
check_equal "the user's file beats the default" "system|$HOME/.config/tracelet/tracelet.ini" "$(setting scope)"
printf '; a comment\n[tracelet]\nscope = tree\noutput-dir = traces\nstrict = yes\nduration = 2m\nbuffer-size = 64k\n' >../tracelet.ini
project=$(dirname "$PWD")
check_equal "the project's file beats the user's" "tree|$project/tracelet.ini" "$(setting scope)"
check_equal "its folders are meant from where it is" "$project/traces|$project/tracelet.ini" "$(setting output-dir)"
check_equal "it knows yes" "yes|$project/tracelet.ini" "$(setting strict)"
check_equal "and minutes" "120s|$project/tracelet.ini" "$(setting duration)"
check_equal "and sizes" "64K|$project/tracelet.ini" "$(setting buffer-size)"
check_equal "a variable beats the files" "system|TRACELET_SCOPE" "$(TRACELET_SCOPE=system setting scope)"
check_equal "an empty one does not" "tree|$project/tracelet.ini" "$(TRACELET_SCOPE='' setting scope)"
mkdir ../.git/below ../sub/.git
check_equal "another project's file is not ours" "system|$HOME/.config/tracelet/tracelet.ini" "$(setting scope)"
rmdir .git
rm "$HOME/.config/tracelet/tracelet.ini" ../tracelet.ini

# ---- OpenVMM's variables ----

for value in true TRUE True 1; do
	check_equal "OPENVMM_WPR_ENABLED=$value enables" "yes|OPENVMM_WPR_ENABLED" "$(OPENVMM_WPR_ENABLED=$value setting enabled)"
done
for value in yes 0 false 2 on; do
	check_equal "OPENVMM_WPR_ENABLED=$value does not" "no|OPENVMM_WPR_ENABLED" "$(OPENVMM_WPR_ENABLED=$value setting enabled)"
done
check_equal "ours beats it" "no|TRACELET_ENABLED" "$(OPENVMM_WPR_ENABLED=1 TRACELET_ENABLED=off setting enabled)"
check_equal "an empty profile is the built-in one" "embedded" "$(OPENVMM_WPR_PROFILE='' setting profile | cut -d '|' -f 1)"
check_equal "so is Embedded" "embedded|OPENVMM_WPR_PROFILE" "$(OPENVMM_WPR_PROFILE=Embedded setting profile)"
check_equal "its output folder" "there|OPENVMM_WPR_OUTPUT_DIR" "$(OPENVMM_WPR_OUTPUT_DIR=there setting output-dir)"

# ---- bad values: one line that names the source, the value and what is allowed ----

bad() { # WHAT PATTERN, then the command
	what=$1 pattern=$2
	shift 2
	check_run "$what is refused" 2 "$@"
	check_lines "in one line" 1 "$stderr"
	check_match "that names everything" "$pattern" "$stderr"
	check_lines "nothing on stdout" 0 "$stdout"
	check_not "nothing is left" test -e tracelet-out
}
bad "a bad variable" "TRACELET_SCOPE: 'all' is not 'tree' or 'system'" env TRACELET_SCOPE=all "$TRACELET" run -- touch ran
bad "a bad yes or no" "TRACELET_STRICT: 'maybe' is not 'yes' or 'no'" env TRACELET_STRICT=maybe "$TRACELET" run -- touch ran
bad "a bad flag" "\-\-duration: '-3' is not seconds" "$TRACELET" run --duration=-3 -- touch ran
bad "a size that is none" "TRACELET_BUFFER_SIZE: '12Q' is not a size" env TRACELET_BUFFER_SIZE=12Q "$TRACELET" run -- touch ran
bad "a total size that is none" "\-\-max-total-size: 'much' is not a size, as in 10G" "$TRACELET" run --max-total-size much -- touch ran
bad "a size beyond all" "\-\-buffer-size: '99999999999999T' is not a size" "$TRACELET" run --buffer-size 99999999999999T -- touch ran
echo 'scoop = tree' >tracelet.ini
bad "an unknown key" "tracelet.ini: unknown setting 'scoop'" "$TRACELET" run -- touch ran
echo 'scope = tall' >tracelet.ini
bad "a bad value in a file" "tracelet.ini: scope: 'tall' is not 'tree' or 'system'" "$TRACELET" run -- touch ran
printf 'scope = tree\nwhat is this\n' >tracelet.ini
bad "a line that is none" "tracelet.ini:2: neither a section nor" "$TRACELET" run -- touch ran
echo '[tracer]' >tracelet.ini
echo 'scope = tree' >>tracelet.ini
bad "an unknown section" "tracelet.ini: unknown section .tracer" "$TRACELET" settings
rm tracelet.ini
check_not "no test was run" test -e ran

# ---- the opt-in wrapper ----

check_run "TRACELET_ENABLED=false only runs the test" 3 env TRACELET_ENABLED=false "$TRACELET" run -- sh -c 'exit 3'
check_lines "nothing is printed" 0 "$stderr"
check_not "and nothing is left" test -e tracelet-out
check_equal "the test takes tracelet's place" "$(sh -c 'echo $$; exec env TRACELET_ENABLED=0 "$0" run -- sh -c "echo \$\$"' "$TRACELET" | uniq | wc -l)" 1
check_run "--enabled auto does not trace unless the environment asks" 0 "$TRACELET" run --enabled auto -- true
check_not "nothing is left then either" test -e tracelet-out
check_run "a command that is not there is still 127" 127 "$TRACELET" run --enabled no -- ./no-such-command
check_lines "in one line" 1 "$stderr"
if [ "$(id -u)" = 0 ]; then
	check_run "--enabled auto traces when the environment asks" 0 env TRACELET_ENABLED=1 "$TRACELET" run --enabled auto -- true
	check "there is a trace" test -n "$(ls tracelet-out/true_*.pb)"
fi

# ---- variables that are none ----

fresh
check_run "a misspelt variable" 0 env TRACELET_OUTPT_DIR=elsewhere TRACELET_SOMETHING_ELSE=1 "$TRACELET" run -q -- true
check_equal "is one warning, with the nearest name" \
	"tracelet: warning: the variable TRACELET_OUTPT_DIR is unknown (did you mean TRACELET_OUTPUT_DIR?)" "$(grep variable "$stderr")"
run env TRACELET_TIMEOT=3 "$TRACELET" run-test --trace out 0 true
check_equal "one, also in the positional form" 1 "$(grep -c 'did you mean TRACELET_TIMEOUT' "$stderr")"
run env TRACELET_TIMEOUT=30 TRACELET_STATE_DIR="$PWD/state" "$TRACELET" run -q -- true
check_not "those that are known are fine" grep variable "$stderr"
run env TRACELET_TIMEOT=3 "$TRACELET" run -q --enabled no -- true
check_lines "--enabled no has no words" 0 "$stderr"

done_testing
