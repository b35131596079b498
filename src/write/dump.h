// Events as lines: text for people, JSON lines for jq, CSV for spreadsheets.
#pragma once

#include "base/file.h"
#include "event/event.h"

enum dump_format { DUMP_TEXT, DUMP_JSON, DUMP_CSV };

struct dump_options {
	enum dump_format format;
	const char *provider, *event; // shown are those whose names hold this, in any case; NULL: all. An
				      // event may also be named by its id.
	bool has_pid;
	uint32_t pid;
	bool has_to;
	uint64_t from, to; // nanoseconds since the trace began
	bool only_generic; // all events come as generic ones: others only tell who is who
};

struct sink *dump_new(struct output *output, struct tables *tables, const struct dump_options *options);
uint64_t dump_shown(const struct sink *sink);

// A field's value as text, without quotes.
void dump_value(struct buffer *out, const struct event_field *field);
// The same in a line among others: quoted where it has spaces, without line ends.
void dump_plain(struct buffer *out, const struct event_field *field);
void dump_csv_text(struct buffer *out, const char *text, size_t size); // quoted where it must be
