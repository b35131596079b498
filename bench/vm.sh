#!/usr/bin/env bash
# What a machine for one test costs: `tracelet vm run -- true` from a Debian bzImage, beside the same without a trace, and
# without the kernel that was taken out of its image before. In emulation nearly all of it is the guest's boot.
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
echo "seconds of 'vm run -- true': $(middle "${traced[@]}"); without a trace $(middle "${plain[@]}"); of a kernel not seen before $(middle "${fresh[@]}")"
floor "a kernel that was unpacked before, over one that was not" "$(calculate "$(middle "${traced[@]}") / $(middle "${fresh[@]}")")" "<=" 1
floor "traced over not traced" "$(calculate "$(middle "${traced[@]}") / $(middle "${plain[@]}")")" "<=" 2
finish
