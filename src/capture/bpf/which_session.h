/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// To which session a task belongs, and where that session's lanes and ring are. The programs are
// compiled twice: for a tracer that serves one session, and for the collector that serves many, of
// users who must not see each other's tasks. All that differs is in the two headers below, which
// offer the same functions.
#pragma once

#ifdef TRACELET_COLLECTOR
#include "capture/bpf/many_sessions.h"
#else
#include "capture/bpf/one_session.h"
#endif
