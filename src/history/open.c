// From an address to a store.
#include "base/log.h"
#include "history/index.h"

#include <errno.h>

int (*history_open_fleet)(const char *where, struct history_store **store);

int history_open(const char *where, struct history_store **store) {
	struct index *index;
	if (strstr(where, "://") && history_open_fleet)
		return history_open_fleet(where, store);
	if (strstr(where, "://")) {
		log_error("%s: no store of this kind", where);
		return -EINVAL;
	}
	int error = index_open(where, &index);
	if (!error)
		*store = &index->store;
	return error;
}
