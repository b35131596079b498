#include "write/dump.h"
#include "base/json.h"
#include "base/text.h"
#include "event/described.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

struct dump {
	struct sink sink;
	struct output *output;
	struct dump_options options;
	struct describer describer;
	struct buffer line;
	uint64_t shown;
	bool heading_written;
};

// ---- values ----

void dump_plain(struct buffer *out, const struct event_field *field) {
	bool quote = field->type == FIELD_TEXT && (!field->size || memchr(field->text, ' ', field->size));
	if (quote)
		buffer_append(out, "\"", 1);
	size_t begin = out->size;
	field_print(out, field);
	text_plain_from(out, begin);
	if (quote)
		buffer_append(out, "\"", 1);
}

void dump_csv_text(struct buffer *out, const char *text, size_t size) {
	bool quote = false;
	for (size_t i = 0; i < size; i++)
		quote |= text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r';
	if (!quote) {
		buffer_append(out, text, size);
		return;
	}
	buffer_append(out, "\"", 1);
	for (size_t i = 0; i < size; i++)
		buffer_append(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
	buffer_append(out, "\"", 1);
}

// ---- messages ----

static void add_message(const struct event *event, struct buffer *out) {
	const char *message = event->kind == EVENT_GENERIC && event->generic.numbers
				      ? event->generic.numbers->message
				      : NULL;
	if (!message)
		return;
	struct event_field field = {.type = FIELD_TEXT, .text = message, .size = strlen(message)};
	buffer_printf(out, " message=");
	dump_plain(out, &field);
}

// ---- stacks ----

enum { MOST_FRAMES = 1024 };

static const struct stack *stack_of(const struct dump *dump, const struct event *event) {
	uint32_t id = event->kind == EVENT_GENERIC  ? event->generic.stack
		      : event->kind == EVENT_SAMPLE ? event->sample.stack
						    : 0;
	return stacks_get(dump->describer.tables->stacks, id);
}

// " ip=0x12 addresses=0x12,0x34" if they are wanted and known; the first one of a sample is where it was.
static void add_addresses(const struct dump *dump, const struct event *event, struct buffer *out) {
	const struct tables *tables = dump->describer.tables;
	const struct stack *stack = dump->options.addresses ? stack_of(dump, event) : NULL;
	if (!stack)
		return;
	if (event->kind == EVENT_SAMPLE)
		buffer_printf(out, " ip=0x%" PRIx64, stacks_frame(tables->stacks, stack->frame)->address);
	const char *before = " addresses=";
	for (unsigned i = 0; stack && i < MOST_FRAMES;
	     i++, stack = stacks_get(tables->stacks, stack->caller), before = ",")
		buffer_printf(out, "%s0x%" PRIx64, before,
			      stacks_frame(tables->stacks, stack->frame)->address);
}

static void json_address(struct json *json, const char *name, uint64_t address) {
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(json, name, text);
}

// As many as frames in the stack.
static void json_addresses(const struct dump *dump, struct json *json, const struct event *event) {
	const struct tables *tables = dump->describer.tables;
	const struct stack *stack = dump->options.addresses ? stack_of(dump, event) : NULL;
	if (!stack)
		return;
	if (event->kind == EVENT_SAMPLE)
		json_address(json, "ip", stacks_frame(tables->stacks, stack->frame)->address);
	json_array(json, "addresses");
	for (unsigned i = 0; stack && i < MOST_FRAMES; i++, stack = stacks_get(tables->stacks, stack->caller))
		json_address(json, NULL, stacks_frame(tables->stacks, stack->frame)->address);
	json_close_array(json);
}

// ---- lines ----

static void line_text(struct dump *dump, const struct event *event, const struct described *described,
		      uint64_t time) {
	struct buffer *line = &dump->line;
	buffer_printf(line, "%5" PRIu64 ".%09" PRIu64 " ", time / 1000000000, time % 1000000000);
	if (event->cpu == CPU_NONE)
		buffer_printf(line, " -- ");
	else
		buffer_printf(line, "[%02" PRIu32 "]", event->cpu);
	buffer_printf(line, " %6" PRIu32 "/%-6" PRIu32 " %-20s %s/%s", described->pid, event->tid,
		      described->process, described->provider, described->name);
	for (uint32_t i = 0; i < described->count; i++) {
		buffer_printf(line, " %s=", described->fields[i].name);
		dump_plain(line, &described->fields[i]);
	}
	if (event->kind == EVENT_GENERIC && event->generic.duration)
		buffer_printf(line, " duration=%" PRIu64 "ns", event->generic.duration);
	add_message(event, line);
	add_addresses(dump, event, line);
	text_plain_from(line, 0);
}

static void json_field(struct json *json, const struct event_field *field) {
	char text[24];
	switch (field->type) {
	case FIELD_UINT:
		json_uint(json, field->name, field->uint);
		break;
	case FIELD_INT:
		json_int(json, field->name, field->sint);
		break;
	case FIELD_HEX:
		snprintf(text, sizeof(text), "0x%" PRIx64, field->uint);
		json_string(json, field->name, text);
		break;
	case FIELD_DOUBLE:
		json_exact(json, field->name, field->real);
		break;
	case FIELD_BOOL:
		json_bool(json, field->name, field->uint);
		break;
	case FIELD_TEXT:
		json_text(json, field->name, field->text, field->size);
		break;
	}
}

static void json_numbers(struct json *json, const struct event_numbers *numbers) {
	char keywords[24];
	if (numbers->message)
		json_string(json, "message", numbers->message);
	if (numbers->provider)
		json_string(json, "provider_guid", numbers->provider);
	if (numbers->has_id)
		json_uint(json, "id", numbers->id);
	json_uint(json, "version", numbers->version);
	json_uint(json, "opcode", numbers->opcode);
	if (numbers->instance) {
		json_uint(json, "instance", numbers->instance);
		json_uint(json, "parent_instance", numbers->parent_instance);
	}
	if (!numbers->has_id)
		return;
	snprintf(keywords, sizeof(keywords), "0x%" PRIx64, numbers->keywords);
	json_uint(json, "task", numbers->task);
	json_uint(json, "level", numbers->level);
	json_string(json, "keywords", keywords);
	if (numbers->activity)
		json_string(json, "activity", numbers->activity);
	if (numbers->related_activity)
		json_string(json, "related_activity", numbers->related_activity);
}

// Innermost frame first: its name, otherwise its address or its module.
static void json_stack(const struct dump *dump, struct json *json, const struct event *event) {
	const struct tables *tables = dump->describer.tables;
	const struct stack *stack = stack_of(dump, event);
	if (!stack)
		return;
	json_array(json, "stack");
	for (unsigned i = 0; stack && i < MOST_FRAMES;
	     i++, stack = stacks_get(tables->stacks, stack->caller)) {
		const struct frame *frame = stacks_frame(tables->stacks, stack->frame);
		uint32_t name = frame->symbol ? frame->symbol : frame->module;
		char address[24] = "?";
		if (frame->address)
			snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
		bool bare = !frame->symbol && (frame->address || !name);
		json_string(json, NULL, bare ? address : strings_get(tables->strings, name));
	}
	json_close_array(json);
}

static void line_json(struct dump *dump, const struct event *event, const struct described *described,
		      uint64_t time) {
	struct json json = json_into(&dump->line);
	json_object(&json, NULL);
	json_uint(&json, "time_ns", time);
	if (event->cpu != CPU_NONE)
		json_uint(&json, "cpu", event->cpu);
	json_uint(&json, "pid", described->pid);
	json_uint(&json, "tid", event->tid);
	json_string(&json, "process", described->process);
	json_string(&json, "provider", described->provider);
	json_string(&json, "event", described->name);
	if (event->kind == EVENT_GENERIC && event->generic.numbers)
		json_numbers(&json, event->generic.numbers);
	if (event->kind == EVENT_GENERIC && event->generic.duration)
		json_uint(&json, "duration_ns", event->generic.duration);
	json_object(&json, "fields");
	for (uint32_t i = 0; i < described->count; i++)
		json_field(&json, &described->fields[i]);
	json_close_object(&json);
	json_stack(dump, &json, event);
	json_addresses(dump, &json, event);
	json_close_object(&json);
}

static void line_csv(struct dump *dump, const struct event *event, const struct described *described,
		     uint64_t time) {
	struct buffer *line = &dump->line, fields = {0};
	buffer_printf(line, "%" PRIu64 ",", time);
	if (event->cpu != CPU_NONE)
		buffer_printf(line, "%" PRIu32, event->cpu);
	buffer_printf(line, ",%" PRIu32 ",%" PRIu32 ",", described->pid, event->tid);
	dump_csv_text(line, described->process, strlen(described->process));
	buffer_append(line, ",", 1);
	dump_csv_text(line, described->provider, strlen(described->provider));
	buffer_append(line, ",", 1);
	dump_csv_text(line, described->name, strlen(described->name));
	for (uint32_t i = 0; i < described->count; i++) {
		buffer_printf(&fields, "%s%s=", i ? " " : "", described->fields[i].name);
		dump_plain(&fields, &described->fields[i]);
	}
	add_message(event, &fields);
	add_addresses(dump, event, &fields);
	buffer_append(line, ",", 1);
	dump_csv_text(line, (char *)fields.data, fields.size);
	buffer_free(&fields);
}

// ---- what is shown ----

static bool holds(const char *text, const char *part) {
	if (!part)
		return true;
	size_t length = strlen(part);
	for (; *text || !length; text++) {
		size_t i = 0;
		while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
			i++;
		if (i == length)
			return true;
	}
	return false;
}

// A provider may be given by name or GUID.
static bool is_provider(const struct dump *dump, const struct event *event, const char *name) {
	const char *wanted = dump->options.provider;
	const char *guid = event->kind == EVENT_GENERIC && event->generic.numbers
				   ? event->generic.numbers->provider
				   : NULL;
	return holds(name, wanted) || (guid && holds(guid, wanted + (*wanted == '{')));
}

// A number matches the id of an event, or is part of its name like other text.
static bool is_event(const struct dump *dump, const struct event *event, const char *name) {
	const char *wanted = dump->options.event;
	bool number = wanted && *wanted && !wanted[strspn(wanted, "0123456789")];
	if (number && event->kind == EVENT_GENERIC && event->generic.numbers &&
	    event->generic.numbers->has_id)
		return strtoul(wanted, NULL, 10) == event->generic.numbers->id;
	return holds(name, wanted);
}

static bool wanted(const struct dump *dump, const struct event *event, const struct described *described,
		   uint64_t time) {
	const struct dump_options *options = &dump->options;
	return time >= options->from && (!options->has_to || time < options->to) &&
	       (!options->has_pid || described->pid == options->pid) &&
	       is_provider(dump, event, described->provider) && is_event(dump, event, described->name);
}

static void write_heading(struct dump *dump) {
	static const char heading[] = "time_ns,cpu,pid,tid,process,provider,event,fields\n";
	if (dump->options.format == DUMP_CSV && !dump->heading_written)
		output_write(dump->output, heading, sizeof(heading) - 1);
	dump->heading_written = true;
}

static int push(struct sink *sink, const struct event *event) {
	static void (*const lines[])(struct dump *, const struct event *, const struct described *,
				     uint64_t) = {
		[DUMP_TEXT] = line_text, [DUMP_JSON] = line_json, [DUMP_CSV] = line_csv};
	struct dump *dump = CONTAINER_OF(sink, struct dump, sink);
	struct described described;
	describer_learn(&dump->describer, event);
	uint64_t time = describer_since(&dump->describer, event->time);
	if ((dump->options.only_generic && event->kind != EVENT_GENERIC && event->kind != EVENT_LOST) ||
	    !describe(&dump->describer, event, &described) || !wanted(dump, event, &described, time))
		return 0;
	dump->line.size = 0;
	write_heading(dump);
	lines[dump->options.format](dump, event, &described, time);
	buffer_append(&dump->line, "\n", 1);
	dump->shown++;
	return output_write(dump->output, dump->line.data, dump->line.size);
}

static int finish(struct sink *sink) {
	write_heading(CONTAINER_OF(sink, struct dump, sink));
	return 0;
}

static void destroy(struct sink *sink) {
	struct dump *dump = CONTAINER_OF(sink, struct dump, sink);
	describer_free(&dump->describer);
	buffer_free(&dump->line);
	free(dump);
}

struct sink *dump_new(struct output *output, struct tables *tables, const struct dump_options *options) {
	struct dump *dump = memory_alloc(sizeof(*dump));
	dump->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	dump->output = output;
	dump->options = *options;
	describer_init(&dump->describer, tables);
	return &dump->sink;
}

uint64_t dump_shown(const struct sink *sink) {
	return CONTAINER_OF(sink, const struct dump, sink)->shown;
}
