# `tracelet why` names the cause: threads that wait for each other.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/why.sh"

named mutex "holder sleep hold_mutex" "causes mutex take_mutex"
check_equal "a timer woke it, whichever task it interrupted" "null hardirq" \
	"$(largest '"\(.waker.thread) \(.waker.context)"')"
check_equal "with source file and line" "causes.c true" \
	"$(largest '"\(.file | split("/")[-1]) \(.line > 1)"')"
named rwlock "holder sleep hold_rwlock" "causes rwlock take_rwlock"
named condition "holder sleep signal_condition" "causes condition await_condition"
named semaphore "holder sleep post" "causes semaphore take_semaphore"
named join "holder sleep finish_late" "causes join join_it"
# Who waits for its longest piece depends on when the neighbour takes the CPU: for the mutex, or for the end.
named inversion "holder cpu hold_and_work"

done_testing
