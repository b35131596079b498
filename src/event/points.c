#include "event/points.h"
#include "event/kvm_reasons.h"
#include "event/system_calls.h"

#include <string.h>

#define FIELD(name, number, type, place)                                                                     \
	{ name, number, POINT_##type, place, 0, 0 }
#define BITS(name, number, type, place, shift, bits)                                                         \
	{ name, number, POINT_##type, place, shift, bits }

const struct point points[POINT_COUNT] = {
#define POINT(NUMBER, program, group, name, source, values, message, ...)                                    \
	[POINT_##NUMBER] = {group, name, SOURCE_##source, values, message, {__VA_ARGS__}},
#include "format/point_table.h"
#undef POINT
};

bool point_names_code(const struct point *point) {
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++)
		if (point->fields[i].type == POINT_CODE)
			return true;
	return false;
}

static uint64_t mask_of(const struct point_field *field) {
	return field->bits && field->bits < 64 ? ((uint64_t)1 << field->bits) - 1 : UINT64_MAX;
}

uint64_t point_value(const struct event *event, const struct point_field *field) {
	uint64_t value = field->place == POINT_SMALL ? event->point.small : event->point.values[field->place];
	return value >> field->shift & mask_of(field);
}

// Bits that two fields share are the same in both.
void point_set(struct event *event, const struct point_field *field, uint64_t value) {
	uint64_t bits = (value & mask_of(field)) << field->shift;
	if (field->place == POINT_SMALL)
		event->point.small |= (uint16_t)bits;
	else
		event->point.values[field->place] |= bits;
}

const char *point_text(const struct event *event, const struct point_field *field, size_t *size) {
	const char *text = (const char *)&event->point.values[field->place];
	*size = strnlen(text, field->bits);
	return text;
}

void point_set_text(struct event *event, const struct point_field *field, const char *text, size_t size) {
	char *room = (char *)&event->point.values[field->place];
	memcpy(room, text, MIN(size, (size_t)field->bits));
}

// So far only exits of guests have some.
const char *point_word(const struct event *event, const struct point_field *field) {
	uint64_t value = point_value(event, field);
	return kvm_exit_reason((uint32_t)(value >> 32), (uint32_t)value);
}

size_t point_list(const struct event *event, const struct point_field *field) {
	return points[event->point.number].values - (size_t)field->place;
}

const char *system_call_name(const char *machine, uint64_t number) {
	bool arm = strcmp(machine, "aarch64") == 0;
	if (!arm && strcmp(machine, "x86_64") != 0)
		return NULL;
	const char *const *names = arm ? names_aarch64 : names_x86_64;
	size_t count = arm ? ARRAY_SIZE(names_aarch64) : ARRAY_SIZE(names_x86_64);
	return number < count ? names[number] : NULL;
}
