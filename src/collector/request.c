#include "collector/request.h"

#include <string.h>

// Descriptors that come with each request.
static const unsigned char descriptors_of[COLLECTOR_REQUESTS_END] = {
	[COLLECTOR_OPEN] = 1,
	[COLLECTOR_FOLLOW] = 1,
};

enum collector_refusal request_check(const void *bytes, size_t size, size_t descriptors,
				     struct collector_request *request) {
	struct collector_head head;
	if (size < sizeof(head))
		return COLLECTOR_NO_MALFORMED;
	memcpy(&head, bytes, sizeof(head));
	if (head.version != COLLECTOR_VERSION)
		return COLLECTOR_NO_VERSION;
	if (size != sizeof(*request) || head.size != size || !head.type ||
	    head.type >= COLLECTOR_REQUESTS_END || descriptors != descriptors_of[head.type])
		return COLLECTOR_NO_MALFORMED;
	memcpy(request, bytes, sizeof(*request));
	return COLLECTOR_ACCEPTED;
}
