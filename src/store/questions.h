// A fleet's store as the questions of `tracelet history` see it (history/rows.h): rows from ClickHouse.
#pragma once

#include "history/rows.h"

enum { QUESTIONS_PATIENCE = 15 }; // seconds; somebody waits

// 0 or -errno, reported.
int store_open(const char *where, struct history_store **store);
