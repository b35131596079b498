# Variants of a test: a hash after the name, so that siblings never collide; and the run after a
# failed one.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq

vector='{"kargs":[],"payload":null,"scheduler":"eevdf","sysctls":[],"topology":"1n1l1c1t","work_type":""}'

check_run "a variant is taken" 0 "$TRACELET" run --quiet --name a --variant scheduler=eevdf --variant cpus=2 -- true
check "its hash is behind the name" bash -c 'ls tracelet-out/a-[0-9a-f][0-9a-f]*_*.pb'
first=$(jq -r .variant_hash tracelet-out/manifest.jsonl)
check_equal "16 digits" 16 "${#first}"
check_equal "the manifest has the variant" '{"cpus":"2","scheduler":"eevdf"}' "$(jq -c .variant tracelet-out/manifest.jsonl)"
check_equal "and the plain name" a "$(jq -r .test tracelet-out/manifest.jsonl)"
run "$TRACELET" run --quiet --name a --variant cpus=2 --variant scheduler=eevdf -- true
check_equal "the order does not matter" "$first" "$(tail -n 1 tracelet-out/manifest.jsonl | jq -r .variant_hash)"
run env TRACELET_VARIANT="$vector" "$TRACELET" run --quiet --name a -- true
check_equal "an object has the known hash" 36ceceea5c2beda7 \
	"$(tail -n 1 tracelet-out/manifest.jsonl | jq -r .variant_hash)"
run env TRACELET_VARIANT="$vector" "$TRACELET" run --quiet --name a --variant x=y -- true
check_equal "a flag replaces what the environment says" '{"x":"y"}' \
	"$(tail -n 1 tracelet-out/manifest.jsonl | jq -c .variant)"
check_run "what is no variant is refused" 2 "$TRACELET" run --variant nothing -- true
check_lines "in one line" 1 "$stderr"
check_equal "the path of a variant's trace" 1 \
	"$("$TRACELET" artifact --variant scheduler=eevdf --variant cpus=2 a | grep -c "/a-${first}_.*\.pb$")"

# The run after a failed one.
fresh
check_run "the status is the first run's" 3 "$TRACELET" run --repro --name fails -- \
	bash -c 'echo "run $(ls count 2>/dev/null | wc -l)"; [ -e count ] && exit 0; touch count; exit 3'
check_equal "only the first run's output is shown" "run 0" "$(cat "$stdout")"
check_match "the second is reported" "run again and passed this time" "$stderr"
trace=$("$TRACELET" artifact fails)
check_equal "the second's trace has .repro before the extension" "${trace%.pb}.repro.pb" \
	"$("$TRACELET" artifact --repro fails)"
check "both are traces" "$TRACELET" check "$trace" "${trace%.pb}.repro.pb"
check_match "what it printed is kept" "^run 1$" "${trace%.pb}.repro.log"
check "with samples" test -e "${trace%.pb}.repro.svg" -o -e "${trace%.pb}.repro.off-cpu.svg"
check_equal "the manifest distinguishes them" 'fails null,fails true' \
	"$(jq -r '"\(.test) \(.repro)"' tracelet-out/manifest.jsonl | paste -sd ,)"
check_run "a test that passes is run once" 0 "$TRACELET" run --quiet --repro --name passes -- true
check_not "and leaves no second trace" "$TRACELET" artifact --repro passes
check_run "a test ended by a signal is not run again" 143 "$TRACELET" run --quiet --repro --name ended -- \
	bash -c 'kill -TERM $$'
check_not "no second trace of that" "$TRACELET" artifact --repro ended
check_run "a second run that hangs" 3 "$TRACELET" run --repro --repro-timeout 1 --name hangs -- \
	bash -c '[ -e "$0" ] && exec sleep 60; touch "$0"; exit 3' "$work/hung"
check_match "ends at its own time limit" "hangs was run again and failed again .exit status 124." "$stderr"
check_run "a crash is run again" 134 "$TRACELET" run --quiet --repro --name crashes -- bash -c 'kill -ABRT $$'
check "with a second trace" "$TRACELET" artifact --repro crashes

done_testing
