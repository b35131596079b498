/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// What only the collector needs.
#include "capture/bpf/emit.h"

// Run once by the collector, never attached: notes its user namespace. Tasks in others are not
// recorded.
SEC("raw_tp/look_at_self")
int look_at_self(struct bpf_raw_tracepoint_args *context) {
	const struct cred___owner *cred = (void *)credentials(bpf_get_current_task_btf());
	own_namespace = (uint64_t)BPF_CORE_READ(cred, user_ns);
	return 0;
}
