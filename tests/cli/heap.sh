# Sourced by the tests of heap profiles, after lib.sh.
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"
need_command python3

heap=$TRACELET_HELPERS/heap

# profile COMMAND...: writes profile.json; $options are passed to run.
options=--heap
profile() {
	rm -rf tracelet-out profile.json
	run "$TRACELET" run $options -- "$@"
	mv tracelet-out/*[0-9].dhat.json profile.json 2>/dev/null
}

# sums FUNCTION [FIELD...]: over all points with this function in their stacks.
sums() {
	python3 - "$@" <<-'END'
		import json, sys
		profile = json.load(open("profile.json"))
		frames, (function, *fields) = profile["ftbl"], sys.argv[1:]
		assert profile["dhatFileVersion"] == 2 and frames[0] == "[root]"
		stacks = [tuple(point["fs"]) for point in profile["pps"]]
		assert len(set(stacks)) == len(stacks), "two points with the same stack"
		of = [p for p in profile["pps"] if any(f": {function} " in frames[f] + " " for f in p["fs"])]
		print(*(sum(p[field] for p in of) for field in fields or ["tbk", "tb"]))
	END
}

