# Sourced after lib.sh by the tests of `run`: more functions.
# shellcheck shell=bash
helpers=$(realpath -m "${TRACELET_HELPERS:-$source/build/tests/cli/helpers}")
scripts=$source/tests/cli/helpers

# wait_until COMMAND...: until it succeeds; fails after half a minute.
wait_until() {
	local tries
	for ((tries = 0; tries < 3000; tries++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.01
	done
	return 1
}

# need_bpf: recording works here as for root on a usual kernel.
need_bpf() {
	need_root
	need_command jq
	[ "$("$TRACELET" doctor --json | jq -r .recording)" = full ] || skip_all "BPF does not work here"
}

# need_importer: Perfetto's importer is available.
need_importer() {
	local why
	why=$("$source/tests/perfetto/setup" 2>&1 >/dev/null) || skip_all "${why##*$'\n'}"
}

# ask TRACE SQL...: bare values from Perfetto's importer, one row per line.
ask() {
	"$source/tests/perfetto/tp" "$@"
}

# the_trace [NAME]: the only trace (with that name) in the output folder.
the_trace() {
	local found=(tracelet-out/"${1:-}"*.pb)
	[ ${#found[@]} = 1 ] && [ -e "${found[0]}" ] && echo "${found[0]}"
}

# question DESCRIPTION EXPECTED SQL: a query with one row as its answer; `answers` asks it.
question() {
	questions+=("$1")
	expected+=("$2")
	queries+=("$3")
}

# answers TRACE: asks all questions at once, because the importer takes a second to start; each answer is a check.
answers() {
	local lines=() i
	mapfile -t lines < <(ask "$1" "${queries[@]}" 2>&1)
	check_equal "each question to $(basename "$1" | sed 's/_[0-9].*//') has one answer" ${#queries[@]} ${#lines[@]}
	[ ${#queries[@]} = ${#lines[@]} ] || note "$(printf '%s\n' "${lines[@]:0:40}")"
	for ((i = 0; i < ${#queries[@]}; i++)); do
		check_equal "${questions[i]}" "${expected[i]}" "${lines[i]:-}"
	done
	questions=() expected=() queries=()
}
questions=() expected=() queries=()
