// Writes events as lines: text for people, JSON lines for jq, CSV for spreadsheets.
#pragma once

#include "base/file.h"
#include "event/event.h"

enum dump_format { DUMP_TEXT, DUMP_JSON, DUMP_CSV };

struct dump_options {
	enum dump_format format;
	const char *provider, *event; // show only events whose names contain this, ignoring case; NULL for
				      // all. An event may also be given by its id.
	bool has_pid;
	uint32_t pid;
	bool has_to;
	uint64_t from, to; // nanoseconds since the trace began
	bool addresses;    // also show those of stacks
	bool only_generic; // all events come as generic ones, too: use the others only to learn about tasks
};

struct sink *dump_new(struct output *output, struct tables *tables, const struct dump_options *options);
uint64_t dump_shown(const struct sink *sink);

// A field's value as text, for a line with other text: quoted if it contains spaces, without line breaks.
void dump_plain(struct buffer *out, const struct event_field *field);
void dump_csv_text(struct buffer *out, const char *text, size_t size); // quoted if necessary
