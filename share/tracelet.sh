# Operation traces for scripts in any POSIX shell:
#
#     . /usr/share/tracelet/tracelet.sh
#     tracelet_start setup
#     …
#     tracelet_stop setup
#
# Scripts also work without tracelet: if the program ($TRACELET, or tracelet in the PATH)
# is missing, or TRACELET_ENABLED is no, these functions do nothing and succeed.

_tracelet_is_there() {
	case ${TRACELET_ENABLED:-yes} in
	[Nn][Oo] | [Ff][Aa][Ll][Ss][Ee] | [Oo][Ff][Ff] | 0) return 1 ;;
	esac
	command -v "${TRACELET:-tracelet}" >/dev/null 2>&1
}

# tracelet_start NAME [OPTIONS]: records this script, and everything it starts, from here on.
tracelet_start() {
	_tracelet_is_there || return 0
	_tracelet_name=$1
	shift
	"${TRACELET:-tracelet}" start --pid $$ "$@" -- "$_tracelet_name" || return
	_tracelet_marks=${TRACELET_MARKS:-}
	# Programs that make marks find the trace through this variable.
	TRACELET_MARKS=$("${TRACELET:-tracelet}" current --marks -- "$_tracelet_name" 2>/dev/null) &&
		export TRACELET_MARKS || :
}

# tracelet_stop [NAME]: ends the recording and prints the path and size of the trace.
tracelet_stop() {
	_tracelet_is_there || return 0
	"${TRACELET:-tracelet}" stop "$@"
	_tracelet_restore_marks $?
}

# Restores the TRACELET_MARKS that this script was started with.
_tracelet_restore_marks() {
	if [ -n "${_tracelet_marks:-}" ]; then
		TRACELET_MARKS=$_tracelet_marks
	else
		unset TRACELET_MARKS
	fi
	return "$1"
}

tracelet_stop_all() {
	_tracelet_is_there || return 0
	"${TRACELET:-tracelet}" stop --all
	_tracelet_restore_marks $?
}

# tracelet_active [NAME]: succeeds if NAME, or any operation, is being recorded.
tracelet_active() {
	_tracelet_is_there && "${TRACELET:-tracelet}" current "$@" >/dev/null 2>&1
}

# tracelet_current [NAME]: prints the path of the trace that is being recorded.
tracelet_current() {
	_tracelet_is_there || return 1
	"${TRACELET:-tracelet}" current "$@"
}

# tracelet_mark TEXT: puts a mark into the trace of this script.
tracelet_mark() {
	_tracelet_is_there || return 0
	"${TRACELET:-tracelet}" mark "$@" 2>/dev/null || :
}
