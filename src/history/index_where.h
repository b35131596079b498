// Conditions in SQL, from the filter of a question.
#pragma once

#include "history/index.h"

// The condition of a question: SQL with the numbers in it. Texts are ids, so nothing needs quoting.
struct where {
	struct buffer sql;
	bool impossible; // it names a text that no row has
};

void where_text(struct where *condition, struct index *index, const char *column, const char *text);
void where_times(struct where *condition, const struct history_filter *filter, const char *column);
void where_statuses(struct where *condition, uint32_t statuses);
void where_tests(struct where *condition, const struct history_filter *filter, const char *column);
char *where_finish(struct where *condition); // to be freed
// Where there are more tests than where_tests() lists.
bool where_wants_test(const struct history_filter *filter, uint64_t key);

// Operations that are in a file of their own (index_days.c).
int index_days(struct history_store *store, const struct history_filter *filter,
	       void (*take)(void *context, const struct history_day *row), void *context);
int index_functions(struct history_store *store, const struct history_filter *filter,
		    void (*take)(void *context, const struct history_function_day *row), void *context);
