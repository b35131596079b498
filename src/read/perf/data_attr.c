// The recorded events (struct perf_event_attr), their ids and names, and the
// parts of the header that describe the whole recording.
#include "read/perf/data.h"

#include <stdio.h>
#include <string.h>

// ---- attributes ----

enum { FLAG_FREQUENCY = 1 << 10, FLAG_SAMPLE_ID_ALL = 1 << 18, SMALLEST_ATTR = 64, LARGEST_ATTR = 4096 };

bool perf_attr_read(struct cursor *in, size_t size, struct perf_attr *attr) {
	if (size < SMALLEST_ATTR || size > LARGEST_ATTR)
		in->failed = true;
	struct cursor own = cursor_slice(in, size);
	*attr = (struct perf_attr){.type = cursor_u32(&own)};
	cursor_u32(&own); // the size again
	attr->config = cursor_u64(&own);
	attr->period = cursor_u64(&own);
	attr->sample_type = cursor_u64(&own);
	attr->read_format = cursor_u64(&own);
	uint64_t flags = cursor_u64(&own);
	attr->frequency = flags & FLAG_FREQUENCY;
	attr->sample_id_all = flags & FLAG_SAMPLE_ID_ALL;
	cursor_take(&own, 16); // wake-up, breakpoint, config1
	if (own.failed)
		return false;
	// Older files have a shorter struct; the missing fields are 0.
	if (cursor_left(&own) >= 8)
		cursor_u64(&own); // config2
	if (cursor_left(&own) >= 8)
		attr->branch_type = cursor_u64(&own);
	if (cursor_left(&own) >= 8)
		attr->registers = cursor_u64(&own);
	return true;
}

uint32_t perf_attr_name(const struct perf_attr *attr, struct strings *strings) {
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
	uint64_t config = attr->config & 0xffffffff; // on a hybrid machine the upper half selects a PMU
	if (attr->type == TYPE_HARDWARE && config < ARRAY_SIZE(hardware))
		return strings_add(strings, hardware[config]);
	if (attr->type == TYPE_SOFTWARE && config < ARRAY_SIZE(software))
		return strings_add(strings, software[config]);
	char *name = memory_format("%s:0x%llx",
				   attr->type == TYPE_TRACEPOINT ? "tracepoint"
				   : attr->type == TYPE_CACHE    ? "cache"
								 : "raw",
				   (unsigned long long)attr->config);
	uint32_t id = strings_add(strings, name);
	free(name);
	return id;
}

uint32_t perf_event_name(struct strings *strings, const char *name) {
	static const char *const kinds[] = {"cpu_core/", "cpu_atom/", "cpu_lowpower/"};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t prefix = strlen(kinds[i]);
		const char *end = strncmp(name, kinds[i], prefix) == 0 ? strrchr(name, '/') : NULL;
		if (!end || end < name + prefix)
			continue;
		char *inner = memory_format("%.*s%s", (int)(end - name - (ptrdiff_t)prefix), name + prefix,
					    end[1] && end[1] != ':' ? "" : end + 1);
		uint32_t id = strings_add(strings, inner);
		free(inner);
		return id;
	}
	return strings_add(strings, name);
}

// ---- which event a record belongs to ----

static unsigned count_bits(uint64_t bits) {
	return (unsigned)__builtin_popcountll(bits);
}

// Offset of the id in a sample; SIZE_MAX if there is none.
static size_t sample_id_offset(uint64_t type) {
	if (type & SAMPLE_TYPE_IDENTIFIER)
		return 0;
	if (!(type & SAMPLE_TYPE_ID))
		return SIZE_MAX;
	return 8 *
	       count_bits(type & (SAMPLE_TYPE_IP | SAMPLE_TYPE_TID | SAMPLE_TYPE_TIME | SAMPLE_TYPE_ADDR));
}

// Distance of the id from the end of any other record.
static size_t trailer_id_offset(uint64_t type) {
	if (type & SAMPLE_TYPE_IDENTIFIER)
		return 8;
	if (!(type & SAMPLE_TYPE_ID))
		return SIZE_MAX;
	return 8 + 8 * count_bits(type & (SAMPLE_TYPE_STREAM_ID | SAMPLE_TYPE_CPU));
}

const struct perf_attr *perf_attr_of(const struct perf_attrs *attrs, const struct perf_record *record) {
	if (!attrs->items.count)
		return NULL;
	const struct perf_attr *first = &attrs->items.items[0];
	if (attrs->items.count == 1)
		return first;
	bool sample = record->type == PERF_SAMPLE;
	size_t offset = sample ? sample_id_offset(first->sample_type) : trailer_id_offset(first->sample_type);
	size_t size = cursor_left(&record->body);
	if (offset == SIZE_MAX || size < 8 || offset > size - (sample ? 8 : 0))
		return first;
	if (!sample && !first->sample_id_all)
		return first;
	struct cursor at = record->body;
	cursor_take(&at, sample ? offset : size - offset);
	uint64_t *index = map_get(&attrs->by_id, cursor_u64(&at));
	return index ? &attrs->items.items[*index - 1] : sample && attrs->by_id.count ? NULL : first;
}

// ---- features ----

// A header string: its size, its bytes, zero padding.
static const char *take_string(struct cursor *in) {
	uint32_t size = cursor_u32(in);
	struct cursor text = cursor_slice(in, size);
	return cursor_string(&text);
}

static void read_event_names(struct perf_data *data, struct cursor in) {
	uint32_t count = cursor_u32(&in), attr_size = cursor_u32(&in);
	for (uint32_t i = 0; i < count && !in.failed; i++) {
		struct perf_attr attr;
		perf_attr_read(&in, attr_size, &attr);
		uint32_t ids = cursor_u32(&in);
		const char *name = take_string(&in);
		if (!name || in.failed)
			return;
		uint32_t string = perf_event_name(data->tables->strings, name);
		if (i < data->attrs.items.count)
			data->attrs.items.items[i].name = string;
		for (uint32_t k = 0; k < ids && !in.failed; k++) {
			uint64_t id = cursor_u64(&in);
			uint64_t *index = map_get(&data->attrs.by_id, id);
			if (index)
				data->attrs.items.items[*index - 1].name = string;
			else if (!in.failed && i < data->attrs.items.count)
				*map_put(&data->attrs.by_id, id) = i + UINT64_C(1);
		}
	}
}

void perf_data_build_id(struct perf_data *data, uint32_t size, struct cursor body) {
	enum { BUILD_ID = 20, ROOM = 24 };
	cursor_u32(&body); // pid
	const uint8_t *bytes = cursor_take(&body, ROOM);
	const char *file = cursor_string(&body);
	if (!file || !*file)
		return;
	// Newer files store the size after the id; build ids from gcc and lld are shorter than 20
	// bytes.
	size_t length = bytes[BUILD_ID] && bytes[BUILD_ID] <= BUILD_ID ? bytes[BUILD_ID] : BUILD_ID;
	char text[2 * BUILD_ID + 1];
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	uint32_t module = strings_add(data->tables->strings, file);
	*map_put(&data->build_ids, module) = strings_add(data->tables->strings, text);
}

static void read_build_ids(struct perf_data *data, struct cursor in) {
	while (cursor_left(&in) >= 8) {
		cursor_u32(&in); // type
		cursor_u16(&in); // misc
		uint16_t size = cursor_u16(&in);
		if (size < 8)
			return;
		struct cursor body = cursor_slice(&in, size - 8u);
		if (in.failed)
			return;
		perf_data_build_id(data, size, body);
	}
}

static void read_arch(struct perf_data *data, const char *arch) {
	bool x86 = strcmp(arch, "x86_64") == 0;
	data->arch = x86 ? ARCH_X86 : strcmp(arch, "aarch64") == 0 ? ARCH_ARM64 : ARCH_OTHER;
}

static void push_fact(struct perf_data *data, const char *key, const char *value) {
	if (!*value)
		return;
	struct event event = {.kind = EVENT_META, .cpu = CPU_NONE};
	event.meta.key = strings_add(data->tables->strings, key);
	event.meta.value = strings_add(data->tables->strings, value);
	sink_push(data->sink, &event);
}

static void push_command(struct perf_data *data, struct cursor in) {
	uint32_t count = cursor_u32(&in);
	data->text.size = 0;
	for (uint32_t i = 0; i < count; i++) {
		const char *word = take_string(&in);
		if (!word || in.failed)
			break;
		buffer_printf(&data->text, "%s%s", i ? " " : "", word);
	}
	buffer_append(&data->text, "", 1);
	push_fact(data, "perf-command", (char *)data->text.data);
}

// What was recorded for each event.
void perf_data_settings(struct perf_data *data) {
	static const struct {
		uint64_t bit;
		const char *word;
	} kinds[] = {{SAMPLE_TYPE_CALLCHAIN, "callchain"},
		     {SAMPLE_TYPE_STACK_USER, "user stack"},
		     {SAMPLE_TYPE_BRANCH_STACK, "branches"},
		     {SAMPLE_TYPE_ADDR, "address"},
		     {SAMPLE_TYPE_RAW, "fields"}};
	enum { MOST = 8 };
	data->text.size = 0;
	for (size_t i = 0; i < MIN(data->attrs.items.count, (size_t)MOST); i++) {
		const struct perf_attr *attr = &data->attrs.items.items[i];
		buffer_printf(&data->text, "%s%s", i ? ", " : "",
			      strings_get(data->tables->strings, attr->name));
		if (attr->period > 1)
			buffer_printf(&data->text, attr->frequency ? " at %llu Hz" : " every %llu",
				      (unsigned long long)attr->period);
		const char *before = " (";
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			if (!(attr->sample_type & kinds[k].bit))
				continue;
			buffer_printf(&data->text, "%s%s", before, kinds[k].word);
			before = ", ";
		}
		buffer_printf(&data->text, "%s", *before == ',' ? ")" : "");
	}
	if (data->attrs.items.count > MOST)
		buffer_printf(&data->text, " and %zu more", data->attrs.items.count - MOST);
	buffer_append(&data->text, "", 1);
	if (data->text.size > 1)
		push_fact(data, "perf-events", (char *)data->text.data);
}

void perf_data_feature(struct perf_data *data, uint64_t feature, struct cursor in) {
	const char *text;
	switch (feature) {
	case FEATURE_TRACING_DATA:
		trace_formats_read(&data->formats, in, data->tables->strings);
		break;
	case FEATURE_BUILD_ID:
		read_build_ids(data, in);
		break;
	case FEATURE_HOSTNAME:
		if ((text = take_string(&in)))
			push_fact(data, "host", text);
		break;
	case FEATURE_OSRELEASE:
		if ((text = take_string(&in))) {
			push_fact(data, "kernel", text);
			char *release = memory_format("release:%s", text);
			data->kernel_release = strings_add(data->tables->strings, release);
			free(release);
		}
		break;
	case FEATURE_ARCH:
		if ((text = take_string(&in))) {
			push_fact(data, "machine", text);
			read_arch(data, text);
		}
		break;
	case FEATURE_VERSION:
		if ((text = take_string(&in)))
			push_fact(data, "perf-version", text);
		break;
	case FEATURE_CPU:
		if ((text = take_string(&in)))
			push_fact(data, "cpu", text);
		break;
	case FEATURE_CMDLINE:
		push_command(data, in);
		break;
	case FEATURE_EVENT_DESC:
		read_event_names(data, in);
		break;
	default:
		break;
	}
}
