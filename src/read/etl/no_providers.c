// In place of providers.c in the agent for guests, which must be small and reads no ETL files of Windows:
// none of its providers are known.
#include "read/etl/schema.h"

bool etl_installed_provider(const struct etl_guid *guid, struct buffer *out) {
	return false;
}

bool etl_installed_guid(size_t index, struct etl_guid *guid) {
	return false;
}

struct etl_schema *etl_provider_schema(const struct etl_guid *guid, unsigned id, unsigned version) {
	return NULL;
}
