# bash completion for tracelet(1)

# _tracelet_offer WORDS: those that begin with the current word.
_tracelet_offer() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

# _tracelet_files ACTION...: names, quoted by readline.
_tracelet_files() {
	mapfile -t COMPREPLY < <(compgen "$@" -- "$current" | sort -u)
	# Only inside a completion is there anything to set; elsewhere compopt complains.
	compopt -o filenames 2>/dev/null || return 0
}

# _tracelet_value OPTION: completes the value of an option; fails if it has none.
_tracelet_value() {
	case $verb:$1 in
	vm:--kernel)
		_tracelet_files -f
		return
		;;
	dump:--from | dump:--to | dump:--provider | dump:--event | table:--group-by | table:--sum | table:--sort) return ;;
	esac
	case $1 in
	--event | -e) _tracelet_offer "$(tracelet stat list 2>/dev/null | awk 'NR > 1 && $2 != "metric" { print $1 }')" ;;
	--metric | -m) _tracelet_offer "$(tracelet stat list 2>/dev/null | awk '$2 == "metric" { print $1 }')" ;;
	--cpus | -c | --interval | -i | --count | -n | -p | --assert | --tolerance) ;;
	--baseline | --heap-suppressions | --initrd | --add | --agent | --socket) _tracelet_files -f ;;
	--rootfs) _tracelet_files -d ;;
	--arch) _tracelet_offer "x86_64 arm64" ;;
	--env) _tracelet_offer "$(compgen -v)" ;;
	--mem | --append | --qemu | --boot-timeout | --chunk-type) ;;
	--manifest) _tracelet_files -f -X '!*.man' ;;
	--cases) _tracelet_offer "yes no" ;;
	--listen) _tracelet_offer "port:tracelet vsock: tcp: unix: serial: stdio" ;;
	--patience | --max-artifact-size | --linger) ;;
	--enabled | --attachments) _tracelet_offer "yes no auto" ;;
	--framework) _tracelet_offer "gtest catch2 catch2-3 doctest cmocka libtest go pytest ctest meson tap" ;;
	--session) _tracelet_offer "$(tracelet status 2>/dev/null | cut -d ' ' -f 1)" ;;
	--profile)
		_tracelet_offer "default embedded light cpu memory io system-calls verbose"
		[ "${#COMPREPLY[@]}" -gt 0 ] || _tracelet_files -f
		;;
	--heap-sample) _tracelet_offer "64K 512K" ;;
	--type) _tracelet_offer "file memory" ;;
	--scope) _tracelet_offer "tree system" ;;
	--call-graph) _tracelet_offer "auto fp dwarf" ;;
	--from) _tracelet_offer "spool perfetto etl etl.zip perf-data dhat folded perf-script" ;;
	--to) _tracelet_offer "perfetto folded svg html speedscope pprof" ;;
	--colors) _tracelet_offer "hot mem io red green blue aqua yellow purple orange kind module difference" ;;
	--metric) _tracelet_offer "allocated blocks peak peak-blocks leaked leaked-blocks most most-blocks lifetime read written" ;;
	--sort) _tracelet_offer "self total" ;;
	--junit | --manifest | --output | --diff | --palette | -o) _tracelet_files -f ;;
	--event-filter | --title | --subtitle | --countname | --factor | --bgcolors | --min-width | --width | \
		--height | --fontsize | --fonttype | --limit | --function | --fail-above) ;;
	--output-dir | --trace-dir | --landed) _tracelet_files -d ;;
	--keep) _tracelet_offer "always failed never" ;;
	--name | --variant | --duration | --timeout | --grace | --timeout-status | --core-limit | --max-total-size | --max-age | --max-size | \
		--buffer-size | --ring-size | --ring-seconds | --min-size | --pid | --jobs | -j | --filter | --select) ;;
	--json)
		[ "$verb" = run ] || return 1
		_tracelet_files -f
		;;
	*) return 1 ;;
	esac
}

# _tracelet_command FIRST: completes the traced command, which begins at that word.
_tracelet_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" = "$1" ]; then
		_tracelet_files -c
	else
		_tracelet_files -f
	fi
}

_tracelet() {
	local verbs="run each run-test start stop cancel status current snapshot mark convert info dump table fold flame top
		diff heap check artifact vm stat junit profile settings doctor guest agent"
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} i
	local profile_options="--pid --tid --kernel --jit --all --addrs --event-filter --all-events --metric --inline --no-inline --srcline --from --quiet --help"
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_tracelet_offer "$verbs help --help --version"
		return
	fi

	if [ "$verb" = run ] || [ "$verb" = each ] || [ "$verb" = stat ] || [ "$verb" = vm ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			-e | --event | -m | --metric | -c | --cpus | -i | --interval | -n | --count | -p | --pid | -o | --output | --assert | --baseline | --tolerance)
				((i++))
				;;
			--kernel | --initrd | --rootfs | --add | --env | --agent | --arch | --mem | --append | --qemu | --boot-timeout | --socket | --max-artifact-size)
				((i++))
				;;
			-j | --jobs | --filter | --framework | --select | --junit | --enabled | --name | --variant | --output-dir | --profile | --scope | --type | --ring-size | --ring-seconds | --heap-sample | --heap-suppressions | --call-graph | --duration | --max-size | --json | \
				--timeout | --grace | --timeout-status | --core-limit | --keep | --max-total-size | --max-age | --cases | \
				--attachments | --buffer-size)
				((i++)) # its value, whatever that looks like
				;;
			--)
				_tracelet_command $((i + 1))
				return
				;;
			esac
		done
	fi

	# bash makes three words of an option and its value joined by "=".
	if [ "$current" = = ]; then
		current=
		_tracelet_value "$previous"
		return
	elif [ "$previous" = = ]; then
		_tracelet_value "${COMP_WORDS[COMP_CWORD - 2]}"
		return
	fi
	_tracelet_value "$previous" && return

	local of_run="--enabled --name --variant --output-dir --profile --scope --type --ring-size --ring-seconds --sample --off-cpu --counters --counters-interval --counters-per-slice --heap --heap-children --heap-sample --heap-usable --heap-leaks
			--heap-suppressions --fail-on-leak --call-graph --duration --max-size --wait-tree
			--timeout --grace --timeout-status --core --core-limit --keep --max-total-size --max-age --cases --strict --quiet --verbose
			--json --attachments --buffer-size --keep-spool --repro --help --"
	case $verb:$current in
	run:*) _tracelet_offer "$of_run" ;;
	each:*) _tracelet_offer "--jobs --filter --list --junit --framework --select $of_run" ;;
	vm:-*)
		_tracelet_offer "--kernel --initrd --rootfs --add --mem --cpus --arch --agent --append --env --qemu --boot-timeout --socket --max-artifact-size $of_run"
		;;
	vm:*) [ "$COMP_CWORD" != 2 ] || _tracelet_offer "run start --help" ;;
	run-test:-*) _tracelet_offer "--trace --trace-dir $of_run" ;;
	run-test:*) _tracelet_files -f ;;
	junit:-*) _tracelet_offer "--output --manifest --quiet --help" ;;
	junit:*) _tracelet_files -f ;;
	convert:-*) _tracelet_offer "--from --to --manifest --merge --output --help" ;;
	info:-*) _tracelet_offer "--json --manifest --help" ;;
	dump:-*) _tracelet_offer "--text --json --csv --provider --event --pid --from --to --manifest --help" ;;
	table:-*)
		_tracelet_offer "--list --text --csv --json --group-by --sum --sort --reverse --limit --manifest --help"
		;;
	table:*)
		if [ "$COMP_CWORD" -gt 2 ] && [ -e "$previous" ]; then
			_tracelet_offer "$(tracelet table --list 2>/dev/null | cut -d ' ' -f 1)"
		else
			_tracelet_files -f
		fi
		;;
	stat:-*)
		_tracelet_offer "--event --metric --pid --all-cpus --cpus --per-core --per-thread --per-test --metric-file --timeline --interval --count
			--json --csv --output --assert --baseline --tolerance --quiet --help --"
		;;
	stat:*)
		if [ "$previous" = man ]; then
			_tracelet_offer "$(tracelet stat list 2>/dev/null | awk 'NR > 1 { print $1 }')"
		else
			_tracelet_offer "list detect man"
		fi
		;;
	profile:-*) _tracelet_offer "--json --output --help" ;;
	profile:*)
		if [ "$COMP_CWORD" = 2 ]; then
			_tracelet_offer "list show check export"
		else
			_tracelet_files -f
		fi
		;;
	check:-*) _tracelet_offer "--quiet --json --min-size --landed --name --variant --repro --help" ;;
	artifact:-*) _tracelet_offer "--output-dir --variant --repro --help" ;;
	artifact:*) [ "$COMP_CWORD" = 2 ] || _tracelet_offer "perfetto flame off-cpu heap stacks core output console spool" ;;
	start:-*)
		_tracelet_offer "--variant --output-dir --profile --scope --type --ring-size --ring-seconds --sample --off-cpu --counters --counters-interval
			--counters-per-slice --call-graph --duration --max-size --buffer-size --pid --quiet --verbose --help"
		;;
	stop:-* | cancel:-*) _tracelet_offer "--all --help" ;;
	current:-*) _tracelet_offer "--marks --help" ;;
	stop:* | cancel:* | current:* | snapshot:*) _tracelet_offer "$(tracelet status 2>/dev/null | cut -d ' ' -f 1)" ;;
	guest:-*) _tracelet_offer "--patience --max-artifact-size --compress --no-live --verbose --help" ;;
	guest:*)
		if [ "$COMP_CWORD" -gt 2 ]; then
			_tracelet_offer "run start stop status snapshot stat heap perf file kmsg shell power-off"
		else
			_tracelet_offer "unix: vsock: tcp: serial: exec:"
		fi
		;;
	agent:*) _tracelet_offer "--listen --linger --verbose --help" ;;
	settings:* | status:* | doctor:*) _tracelet_offer "--json --help" ;;
	help:*) _tracelet_offer "$verbs" ;;
	mark:-*) _tracelet_offer "--session --help" ;;
	fold:-*) _tracelet_offer "--output $profile_options" ;;
	flame:-*)
		_tracelet_offer "--output --html --diff --normalize --negate --title --subtitle --countname --factor
			--colors --bgcolors --palette --cp --inverted --icicle --reverse --min-width --width --height
			--fontsize --fonttype $profile_options"
		;;
	top:-*) _tracelet_offer "--sort --limit --function --json $profile_options" ;;
	heap:*) _tracelet_offer "--pid --name --duration --reset --output --quiet --verbose --help" ;;
	diff:-*) _tracelet_offer "--output --normalize --limit --fail-above --json $profile_options" ;;
	convert:* | info:* | dump:* | fold:* | flame:* | top:* | diff:*) _tracelet_files -f ;;
	check:*)
		_tracelet_files -f -X '!*.pb'
		local traces=("${COMPREPLY[@]}")
		_tracelet_files -d
		COMPREPLY+=("${traces[@]}")
		;;
	esac
}

complete -F _tracelet tracelet
