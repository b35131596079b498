#!/usr/bin/env bash
# The cost of a machine for one test: `tracelet vm run -- true` from a Debian bzImage, compared with the same without a trace,
# and with a kernel that is not in the cache yet. Under emulation nearly all of it is the guest's boot.
. "$(dirname "$0")/lib.sh"
need_root
kernel=$("$bench/../tests/guest/kernel" linux-image-cloud-amd64) || { echo 'skipped: no kernel' && exit 77; }
export XDG_CACHE_HOME=$scratch/cache
mkdir "$XDG_CACHE_HOME"

middle() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
seconds() { # OPTION…
	local begin=$EPOCHREALTIME
	"$TRACELET" vm run --quiet --kernel "$kernel" --name one "$@" -- true </dev/null
	calculate "$EPOCHREALTIME - $begin"
}

seconds >/dev/null
traced=() plain=() fresh=()
for ((round = 0; round < ROUNDS; round++)); do
	traced+=("$(seconds)")
	plain+=("$(seconds --enabled=no)")
	rm -r "$XDG_CACHE_HOME/tracelet"
	fresh+=("$(seconds)")
done
echo "seconds of 'vm run -- true': $(middle "${traced[@]}"); without a trace $(middle "${plain[@]}"); with a new kernel $(middle "${fresh[@]}")"
floor "a kernel in the cache over a new one" "$(calculate "$(middle "${traced[@]}") / $(middle "${fresh[@]}")")" "<=" 1
floor "traced over untraced" "$(calculate "$(middle "${traced[@]}") / $(middle "${plain[@]}")")" "<=" 2
finish
