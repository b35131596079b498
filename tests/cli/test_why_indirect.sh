# `tracelet why` on programs that are slow because of something one step away from where they wait.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/why.sh"

causes=$TRACELET_HELPERS/indirect

# says PROGRAM EXPRESSION: its answer has this.
says() {
	"$TRACELET" why "$1" >why.txt
	check_match "$1: in words" "$2" why.txt
}

named lost_wakeup "indirect timeout await_item"
named full_socket "consumer sleep digest" "indirect socket produce"
named udp_retry "indirect timeout ask"
says udp_retry 'indirect waited until a time limit \(socket\) in ask\(\).*, 3 times for up to 1[0-9.]+ ms\.'
named stop_the_world "collector cpu mark_heap" "mutator semaphore park"
named grandchild "daemon sleep linger" "indirect pipe read_all"
named locked_file "migration sleep migrate" "indirect kernel-lock open_store"

# What the other thread did meanwhile.
named look_and_sleep "indirect sleep look_for_file"
says look_and_sleep 'indirect slept in look_for_file\(\).*\. Meanwhile, for [0-9.]+ ms, helper ran in compress\(\)'
named look_at_child "indirect sleep await_child"
says look_at_child 'indirect slept in await_child\(\).*\. Meanwhile, for [0-9.]+ ms, child ran in compress\(\)'
named look_and_spin "indirect cpu spin"
says look_and_spin 'indirect ran in spin\(\).*\. Meanwhile, for [0-9.]+ ms, helper slept in unpack\(\)'
record work_beside && check_equal "work_beside: nothing else is said" "0" \
	"$("$TRACELET" why work_beside | grep -c Meanwhile)"

done_testing
