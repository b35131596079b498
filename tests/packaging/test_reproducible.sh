# Two builds of the release archives, in two places, are equal byte for byte. RELEASE is the first (tools/release); the
# second is of the same commit, and compiled: objects out of a cache of the first would prove nothing.
. "$(dirname "$0")/lib.sh"
need_command git meson
release=$(realpath "${RELEASE:-$source/build-release/out}")
[ -e "$release/SHA256SUMS" ] || skip_all "no archives in $release: make release"
tar -xf "$release"/tracelet-*-linux-x86_64.tar.gz
commit=$(tracelet-*-linux-x86_64/bin/tracelet --version | sed -n 's/.*(\(.*\))/\1/p')
[ -n "$commit" ] || skip_all "the first build was not from a git checkout"
git clone -q "$source" elsewhere/with/a/longer/name && git -C elsewhere/with/a/longer/name checkout -q "$commit" || exit 1
check "built again elsewhere" env CCACHE_DISABLE=1 PARTS="${PARTS:-linux windows sources}" elsewhere/with/a/longer/name/tools/release "$PWD/elsewhere/with/a/longer/name/build-release"
other=elsewhere/with/a/longer/name/build-release/out
for file in "$other"/*; do
	name=$(basename "$file")
	[ "$name" = SHA256SUMS ] || check "$name is the same" cmp "$file" "$release/$name"
done
done_testing
