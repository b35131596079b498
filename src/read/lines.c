#include "read/lines.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 20 };

// Takes all complete lines, and counts them; at the end of the input also a last
// line without a newline.
static int take_lines(struct stream *input, const struct line_format *format, void *context,
		      uint64_t *count) {
	const char *at = (const char *)input->data + input->begin;
	const char *end = (const char *)input->data + input->end, *begin = at;
	int error = 0;
	while (at < end && !error) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && !input->at_end)
			break;
		error = format->take(context, at, (size_t)((newline ? newline : end) - at));
		at = newline ? newline + 1 : end;
		++*count;
	}
	stream_consume(input, (size_t)(at - begin));
	return error;
}

int lines_read(struct stream *input, const char *name, const struct line_format *format, void *context) {
	uint64_t count = 0;
	for (;;) {
		stream_need(input, stream_available(input) + 1);
		if (input->error) {
			log_error("%s: cannot be read: %s", name, strerror(-input->error));
			return input->error;
		}
		int error = take_lines(input, format, context, &count);
		if (error || input->at_end)
			return error;
		if (stream_available(input) > LONGEST_LINE) {
			log_error("%s: line %" PRIu64 " is longer than %d bytes: this is not %s", name,
				  count + 1, LONGEST_LINE, format->expected);
			return -EINVAL;
		}
	}
}
