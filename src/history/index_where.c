#include "history/index_where.h"

void where_text(struct where *condition, struct index *index, const char *column, const char *text) {
	if (!text)
		return;
	int64_t id = index_find_text(index, text);
	condition->impossible |= id < 0;
	buffer_printf(&condition->sql, " AND %s = %lld", column, (long long)id);
}

void where_times(struct where *condition, const struct history_filter *filter, const char *column) {
	if (filter->since)
		buffer_printf(&condition->sql, " AND %s >= %lld", column, (long long)filter->since);
	if (filter->until)
		buffer_printf(&condition->sql, " AND %s < %lld", column, (long long)filter->until);
}

// Statuses as a list.
void where_statuses(struct where *condition, uint32_t statuses) {
	const char *before = " AND status IN (";
	if (!statuses)
		return;
	for (int i = 0; i < ENDED_COUNT; i++)
		if (statuses >> i & 1) {
			buffer_printf(&condition->sql, "%s%d", before, i);
			before = ",";
		}
	buffer_text(&condition->sql, ")");
}

// A few tests as a list; many are looked up row by row.
void where_tests(struct where *condition, const struct history_filter *filter, const char *column) {
	enum { FEW = 256 };
	if (!filter->tests || filter->test_count > FEW)
		return;
	buffer_printf(&condition->sql, " AND %s IN (", column);
	for (size_t i = 0; i < filter->test_count; i++)
		buffer_printf(&condition->sql, "%s%lld", i ? "," : "", (long long)filter->tests[i]);
	buffer_text(&condition->sql, ")");
}

char *where_finish(struct where *condition) {
	buffer_append(&condition->sql, "", 1);
	return (char *)condition->sql.data;
}

bool where_wants_test(const struct history_filter *filter, uint64_t key) {
	size_t low = 0, high = filter->test_count;
	if (!filter->tests)
		return true;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (filter->tests[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < filter->test_count && filter->tests[low] == key;
}
