# Sourced by the benches: a scratch directory, medians, and floors.
#
# A bench prints its measurements, then one line per floor: "ok" or "MISS". It fails
# if a floor was missed. Peers are measured in the same run, alternating with us.
set -euo pipefail
unset CI # passed or not, the traces are what is measured
export LC_ALL=C
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TRACELET=${TRACELET:-$bench/../build/tracelet}
TRACELET=$(realpath "$TRACELET")
ROUNDS=${ROUNDS:-7}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tracelet-bench.XXXXXX")
trap 'cd /; rm -rf "$scratch"' EXIT
cd "$scratch"
missed=0

need_root() {
	[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
}

# calculate EXPRESSION: prints the result with four digits.
calculate() {
	awk "BEGIN { printf \"%.4g\", $1 }"
}

# floor DESCRIPTION VALUE OPERATOR LIMIT
floor() {
	# Anything that is not a number is a miss.
	if [[ $2 =~ ^-?[0-9] ]] && awk "BEGIN { exit !($2 $3 $4) }"; then
		echo "ok    $1: $2 ($3 $4)"
	else
		echo "MISS  $1: $2 (floor: $3 $4)"
		missed=1
	fi
}

# column NAME NUMBER: a cell of measure.py's table in $table
column() {
	awk -v name="$1" -v number="$2" '$1 == name { print $number }' <<<"$table"
}

finish() {
	exit $missed
}
