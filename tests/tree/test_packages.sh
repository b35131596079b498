# make, and which packages it installs: a copy of Makefile and list on a machine of stand-ins, where apt-get
# and the build only record their arguments.
. "$(dirname "$0")/../cli/lib.sh"
need_command make awk

mkdir -p tools bin demo tests/fuzz
cp "$source/Makefile" .
cp "$source/tools/packages" tools/
cat >packages.txt <<'END'
# a comment
build   one           needed
build   two           needed, and there
build   sh:three      a command that is there
test    four          for tests
guest   five          for guests
bench   six           for benches
release eight         for packages
format  seven         for the format
END
cat >bin/dpkg-query <<'END'
#!/bin/sh
for last; do :; done
[ "$last" != two ] || echo installed
END
cat >bin/id <<'END'
#!/bin/sh
echo 1000
END
for command in sudo meson ninja apt-get clang-format; do
	printf '#!/bin/sh\necho "%s $*" >>%s/calls\n' "$command" "$PWD" >bin/$command
done
printf '#!/bin/sh\necho "sudo $*" >>%s/calls\nexec "$@"\n' "$PWD" >bin/sudo
for script in tools/test tools/bench tools/agent-arm64 tools/deb tools/release demo/run tests/fuzz/run; do
	printf '#!/bin/sh\necho "%s $*" >>%s/calls\n' "$script" "$PWD" >$script
done
chmod +x bin/* tools/* demo/run tests/fuzz/run
export PATH=$PWD/bin:$PATH
unset MAKEFLAGS MAKELEVEL

for target in all install format format-check; do
	rm -f calls
	check_run "make $target fails where packages are missing" 2 make $target
	check_not "and calls nothing" test -e calls
done
run make
check_match "make says which, and the command to run" 'sudo apt-get install --no-install-recommends one$' "$stderr"

# installs TARGET PACKAGES LAST: what is installed, and what is called next.
installs() {
	rm -f calls
	check_run "make $1" 0 make "$1"
	check_equal "installs what is missing" "$2" "$(sed -n 's/^apt-get .*--no-install-recommends //p' calls)"
	check_equal "and goes on" "$3" "$(tail -n 1 calls)"
}
installs run "one" "demo/run "
installs test "one four five" "tools/test native sanitize windows wine fuzz guest"
installs test-guest "one five" "tools/test guest"
installs bench "one six" "tools/bench "
installs fuzz "one four" "tests/fuzz/run 60 build-fuzz"
installs deb "one eight" "tools/deb build-deb"
installs release "one four five eight" "tools/release build-release"
installs agent-arm64 "one five" "tools/agent-arm64 build-arm64"

run make help
for target in run test test-guest bench fuzz agent-arm64; do
	check "help lists $target among those that install" \
		sh -c "sed -n '/install missing Debian packages/,\$p' '$stdout' | grep -q '^make $target '"
done

printf '#!/bin/sh\necho installed\n' >bin/dpkg-query
rm -f calls
check_run "make builds where nothing is missing" 0 make
check_equal "in one directory" "meson setup build
ninja -C build" "$(cat calls)"
check_lines "and says nothing about packages" 0 "$stderr"

for words in "" check install "remove build" build; do
	# shellcheck disable=SC2086 # words
	check_run "tools/packages $words is bad usage" 2 tools/packages $words
done
check_run "so is a section that is not there" 2 tools/packages check no-such-section

done_testing
