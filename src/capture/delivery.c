#include "capture/delivery.h"

bool sample_delivery_falls_short(const struct sample_delivery *delivery) {
	enum { FEW = 10 };
	return !delivery->throttled && delivery->expected > delivery->delivered + FEW &&
	       (double)delivery->delivered < 0.9 * (double)delivery->expected;
}
