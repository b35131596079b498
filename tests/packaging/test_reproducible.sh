# Two builds of the release archives, in two places, are equal byte for byte. RELEASE is the first (tools/release).
. "$(dirname "$0")/lib.sh"
need_command git meson
release=$(realpath "${RELEASE:-$source/build-release/out}")
[ -e "$release/SHA256SUMS" ] || skip_all "no archives in $release: make release"
[ -z "$(git -C "$source" status --porcelain -uno)" ] || skip_all "the work tree has changes that are not committed"
git clone -q "$source" elsewhere/with/a/longer/name
check "built again elsewhere" env PARTS="${PARTS:-linux windows sources}" elsewhere/with/a/longer/name/tools/release "$PWD/elsewhere/with/a/longer/name/build-release"
other=elsewhere/with/a/longer/name/build-release/out
for file in "$other"/*; do
	name=$(basename "$file")
	[ "$name" = SHA256SUMS ] || check "$name is the same" cmp "$file" "$release/$name"
done
done_testing
