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
	case $1 in
	--enabled) _tracelet_offer "yes no auto" ;;
	--profile) _tracelet_offer "embedded" ;;
	--type) _tracelet_offer "file memory" ;;
	--scope) _tracelet_offer "tree system" ;;
	--keep) _tracelet_offer "always failed never" ;;
	--from) _tracelet_offer "spool" ;;
	--to) _tracelet_offer "perfetto" ;;
	--output-dir) _tracelet_files -d ;;
	--name | --duration | --timeout | --grace | --timeout-status | --core-limit | --max-total-size | --max-age | --buffer-size | --ring-size | --ring-seconds | \
		--min-size) ;;
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
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} i
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_tracelet_offer "run start stop cancel status current snapshot convert check settings doctor help --help --version"
		return
	fi

	if [ "$verb" = run ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--enabled | --name | --output-dir | --profile | --scope | --type | --ring-size | --ring-seconds | --duration | \
				--timeout | --grace | --timeout-status | --core-limit | --keep | --max-total-size | --max-age | --json | --buffer-size)
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

	case $verb:$current in
	run:*)
		_tracelet_offer "--enabled --name --output-dir --profile --scope --type --ring-size --ring-seconds --duration --wait-tree
			--timeout --grace --timeout-status --core --core-limit
			--keep --max-total-size --max-age
			--strict --quiet --verbose --json --buffer-size --keep-spool --help --"
		;;
	convert:-*) _tracelet_offer "--from --to --help" ;;
	check:-*) _tracelet_offer "--quiet --json --min-size --help" ;;
	start:-*)
		_tracelet_offer "--output-dir --profile --scope --type --ring-size --ring-seconds --duration
			--buffer-size --quiet --verbose --help"
		;;
	stop:-* | cancel:-*) _tracelet_offer "--all --help" ;;
	stop:* | cancel:* | current:* | snapshot:*) _tracelet_offer "$(tracelet status 2>/dev/null | cut -d ' ' -f 1)" ;;
	settings:* | status:* | doctor:*) _tracelet_offer "--json --help" ;;
	help:*) _tracelet_offer "run start stop cancel status current snapshot convert check settings doctor" ;;
	convert:*) _tracelet_files -f ;;
	check:*)
		_tracelet_files -f -X '!*.pb'
		local traces=("${COMPREPLY[@]}")
		_tracelet_files -d
		COMPREPLY+=("${traces[@]}")
		;;
	esac
}

complete -F _tracelet tracelet
