#!/bin/bash
# Objects in S3, with a stub that checks every signature, and rows in a real ClickHouse.
. "$(dirname "$0")/../cli/lib.sh"
. "$source/tests/store/servers.sh"

# s3_start WORDS...: a stub with these options; its port is in $port, its log in $work/s3.log.
s3_start() {
	coproc STUB { exec python3 "$source/tests/store/s3_stub.py" "$work/s3" "$work/s3.log" "$@"; }
	read -r port <&"${STUB[0]}"
	stub=$STUB_PID
}
s3_end() {
	kill "$stub" && wait "$stub" 2>/dev/null
}

clickhouse_start 1
TRACELET_STORE=$(clickhouse_url 1 ci)
export TRACELET_STORE
"$TRACELET" store init
mkdir -p s3/traces out
sessions 400 --runs 4 --artifacts out >out/manifest.jsonl
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY AWS_REGION=eu-test-1
export TRACELET_OBJECTS=s3://traces/team-1/ci

s3_start
export AWS_ENDPOINT_URL=http://127.0.0.1:$port
check_run "push takes objects to S3" 0 "$TRACELET" store push --strict out
check_match "all of them" "^objects: 8 new" "$stdout"
check_not "no request was refused" grep -E " (403|400) " s3.log
check_equal "they are under their sums" "$(sha256sum out/*.pb | cut -c1-64 | sort)" \
	"$(cd s3/traces/team-1/ci/objects && find . -type f -printf '%f\n' | sort)"
check_equal "with their content" "$(sha256sum out/*.pb | cut -c1-64 | sort)" \
	"$(find s3/traces/team-1/ci/objects -type f -exec sha256sum {} + | cut -c1-64 | sort)"
check_run "check lists them, page by page" 0 "$TRACELET" store check --deep
check_match "all of them" "^objects    8, " "$stdout"
check_match "with a token" "continuation-token=next%2F%2B%3D.*&list-type=2&prefix=team-1%2Fci%2F 200" s3.log
"$TRACELET" store export >before.csv
"$TRACELET" store init --to "$(clickhouse_url 1 again)"
check_run "rebuild reads the raw lines" 0 "$TRACELET" store rebuild --to "$(clickhouse_url 1 again)"
"$TRACELET" store export --to "$(clickhouse_url 1 again)" >after.csv
check "and makes the same rows" cmp before.csv after.csv
check_run "gc deletes objects" 0 "$TRACELET" store gc --object-size 1
check_equal "in S3" 0 "$(find s3/traces/team-1/ci/objects -type f | wc -l)"
check_run "push does not repeat what it has pushed" 0 "$TRACELET" store push --strict out
check_match "nothing" "^pushed 0 sessions" "$stdout"
check_run "but sends what is missing if it is to" 0 "$TRACELET" store push --strict --again out
check_match "again" "^objects: 8 new" "$stdout"

# ---- who may ----
AWS_SECRET_ACCESS_KEY=wrong check_run "a wrong key is refused" 1 "$TRACELET" store push --strict --again --objects s3://traces/other out
check_match "with the server's words" "cannot store objects: HTTP status 403.*SignatureDoesNotMatch" "$stderr"
check_match "by the stub" "403 SignatureDoesNotMatch" s3.log
AWS_ACCESS_KEY_ID='' check_run "without a key a job does not fail" 0 "$TRACELET" store push --again out
check_match "which is said" "no credentials for S3" "$stderr"
mkdir home home/.aws
printf '[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = nope\n[ci]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = %s\n' \
	"$AWS_SECRET_ACCESS_KEY" >home/.aws/credentials
check_run "keys may be in a file" 0 env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY HOME="$work/home" AWS_PROFILE=ci \
	"$TRACELET" store push --strict --again out
s3_end

# ---- a server that fails ----
rm -r s3/traces/*
s3_start --fail-every 4 --token tok/en+=
export AWS_ENDPOINT_URL=http://127.0.0.1:$port
AWS_SESSION_TOKEN=tok/en+= check_run "requests that fail are repeated, and tokens signed" 0 "$TRACELET" store push --strict --again out
check_match "some failed" "503 on purpose" s3.log
check_equal "nothing is missing" 8 "$(find s3/traces/team-1/ci/objects -type f | wc -l)"
s3_end
check_run "objects come first" 1 "$TRACELET" store push --strict --patience 1 --again --to "$(clickhouse_url 1 ci)" out
check_match "without them there are no rows" "cannot store objects: .*(refused|connect)" "$stderr"
check_equal "nothing is left to guess" 400 "$(value 'SELECT count() FROM sessions FINAL')"

s3_start --endless-list
AWS_ENDPOINT_URL=http://127.0.0.1:$port check_run "a list of empty pages without an end is given up" 2 \
	timeout 60 "$TRACELET" store check --deep
check_match "with the reason" "list of objects is not as it should be" "$stderr"
s3_end

# ---- TLS ----
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out certificate.pem -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
	s3_start --tls certificate.pem key.pem
	export AWS_ENDPOINT_URL=https://127.0.0.1:$port
	check_run "a certificate that nobody knows is refused" 1 "$TRACELET" store push --strict --again --patience 1 out
	check_match "at once, with the reason" "certificate" "$stderr"
	TRACELET_STORE_CA=$work/certificate.pem check_run "unless its authority is named" 0 "$TRACELET" store push --strict --again out
	s3_end
else
	skip "TLS" "there is no openssl here"
fi
clickhouse_end
done_testing
