# Changed files of every format, read with 2 GB of memory: no crash, no endless work, one exit status of ours.
# RUNS=10000 is the long way; SEED=... chooses other changes; $TRACELET_CORPUS adds real files.
. "$(dirname "$0")/lib.sh"
need_command python3
runs=${RUNS:-200}
seed=${SEED:-1}
unset CI GITHUB_ACTIONS

mkdir -p seeds/{perfetto,packed,perf,dhat,folded,script,spool,etl,junit,manifest,wprp,ini}
python3 "$source/tests/attack/helpers/hostile.py" make
mv hostile.pb seeds/perfetto/ && mv hostile.perf seeds/perf/ && mv hostile.dhat.json seeds/dhat/ && mv hostile.folded seeds/folded/
command -v zstd >/dev/null && python3 "$source/tests/attack/helpers/bombs.py" && mv small.gz packets.pb zstd.pb bomb.zip zstd.perf seeds/packed/
rm -f ./*.gz ./*.pb
"$TRACELET" run --quiet --sample --keep-spool --output-dir made --name real -- sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; true | true'
for made in made/*.pb; do [ ! -s "$made" ] || cp "$made" seeds/perfetto/; done
for made in made/*.spool; do [ ! -s "$made" ] || cp "$made" seeds/spool/; done
cp made/manifest.jsonl seeds/manifest/ && cp made/manifest.jsonl .
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl
for way in plain xpress lznt1 huffman; do
	[ ! -x "$make_etl" ] || "$make_etl" seeds/etl/$way.etl $way
done
cat >seeds/script/a.txt <<'END'
app  1234/1235 [001] 100.000001: cycles:
	ffffffff81000000 do_syscall_64+0x10 ([kernel.kallsyms])
	    7f0000001000 main+0x20 (/usr/bin/app)

app  1234/1235 [000] 100.000002: 250000 cycles:u:
	    7f0000001000 main+0x20 (/usr/bin/app)
END
cat >results.xml <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="s" tests="2"><testcase name="real" classname="c" time="0.1"/><testcase name="two"><failure message="m">text</failure></testcase></testsuite></testsuites>
END
cp results.xml seeds/junit/
cat >seeds/wprp/a.wprp <<'END'
<?xml version="1.0"?><WindowsPerformanceRecorder Version="1.0"><Profiles>
<SystemCollector Id="SC" Name="NT Kernel Logger"><BufferSize Value="1024"/><Buffers Value="64"/></SystemCollector>
<SystemProvider Id="SP"><Keywords><Keyword Value="CSwitch"/><Keyword Value="SampledProfile"/></Keywords><Stacks><Stack Value="CSwitch"/></Stacks></SystemProvider>
<Profile Id="P.Verbose.File" Name="P" DetailLevel="Verbose" LoggingMode="File" Description="d"><Collectors><SystemCollectorId Value="SC"><SystemProviderId Value="SP"/></SystemCollectorId></Collectors></Profile>
</Profiles></WindowsPerformanceRecorder>
END
printf 'profile = embedded\nkeep = failed\ntimeout = 30s\nvariant = a=b\nmax-total-size = 1G\n' >seeds/ini/tracelet.ini
find seeds -type d -empty -delete

! grep -q __asan_init "$TRACELET" || export UNLIMITED=1
folders=(seeds)
[ -z "${TRACELET_CORPUS:-}" ] || [ ! -d "$TRACELET_CORPUS" ] || folders+=("$TRACELET_CORPUS")
status=0
${RUNS:+nice} python3 "$source/tests/attack/helpers/mutated.py" "$runs" "$seed" "${folders[@]}" >report || status=$?
cat report
check_equal "$runs changed files are read, or refused" 0 "$status"
if [ "$status" != 0 ] && [ -n "${KEPT:-}" ]; then
	mkdir -p "$KEPT" && cp failed-* "$KEPT/"
fi
done_testing
