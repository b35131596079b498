#!/bin/sh
# test_damage.sh MAKE_ETL DAMAGE: generated and real files, damaged in many ways. By default a sample of the
# damage; TRACELET_DAMAGE=full does all of it: every 4 KB boundary, 2,000 flips of each file.
set -u
source=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/etl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for scheme in plain xpress lznt1 huffman; do
	"$1" "$work/$scheme.etl" $scheme || exit 1
done
if [ "${TRACELET_DAMAGE:-}" = full ]; then
	export DAMAGE_CUTS=0 DAMAGE_FLIPS=2000
	set -- "$1" "$2" "$work"/*.etl "$corpus"/*.etl
else
	DAMAGE_CUTS=20 DAMAGE_FLIPS=300 "$2" "$work"/*.etl || exit $?
	set -- "$1" "$2" "$corpus"/[!p]*.etl "$corpus"/perfview__[!n]*.etl
	export DAMAGE_CUTS=3 DAMAGE_FLIPS=6
fi
shift
[ -e "${2:-}" ] || exit 0
exec "$@"
