#include "artifact/junit.h"
#include "base/system.h"
#include "base/text.h"

#include <time.h>

static void add_attribute(struct buffer *out, const char *name, const char *value) {
	buffer_printf(out, " %s=\"", name);
	for (; *value; value++)
		if (*value == '\n' || *value == '\t')
			buffer_printf(out, "&#%d;", *value);
		else {
			size_t length = strcspn(value, "\n\t");
			text_xml(out, value, length);
			value += length - 1;
		}
	buffer_printf(out, "\"");
}

static void add_attachments(struct buffer *out, const struct junit_case *test) {
	if (!test->artifact_count)
		return;
	buffer_printf(out, "      <system-out>");
	for (size_t i = 0; i < test->artifact_count; i++) {
		CLEANUP_FREE char *path = ci_artifact_path(test->artifacts[i].path);
		if (!ci_fits_a_line(path))
			continue;
		buffer_printf(out, "%s[[ATTACHMENT|", i ? "\n" : "");
		text_xml(out, path, strlen(path));
		buffer_printf(out, "]]");
	}
	buffer_printf(out, "</system-out>\n");
}

static void add_case(struct buffer *out, const struct junit_case *test) {
	static const char *const elements[] = {[JUNIT_FAILED] = "failure", [JUNIT_ERROR] = "error"};
	buffer_printf(out, "    <testcase");
	add_attribute(out, "classname", test->class_name);
	add_attribute(out, "name", test->name);
	buffer_printf(out, " time=\"%.6f\"", test->seconds);
	if (test->result == JUNIT_PASSED && !test->artifact_count) {
		buffer_printf(out, "/>\n");
		return;
	}
	buffer_printf(out, ">\n");
	if (test->result == JUNIT_SKIPPED) {
		buffer_printf(out, "      <skipped/>\n");
	} else if (test->result != JUNIT_PASSED) {
		buffer_printf(out, "      <%s", elements[test->result]);
		add_attribute(out, "message", test->message);
		buffer_printf(out, ">");
		text_xml(out, test->output, test->output_size);
		buffer_printf(out, "</%s>\n", elements[test->result]);
	}
	add_attachments(out, test);
	buffer_printf(out, "    </testcase>\n");
}

void junit_write(struct buffer *out, const char *suite, double seconds, const struct junit_case *cases,
		 size_t count) {
	size_t counts[4] = {0};
	for (size_t i = 0; i < count; i++)
		counts[cases[i].result]++;
	char totals[160], now[32];
	struct tm utc;
	time_t end = time(NULL) - (time_t)seconds;
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S", gmtime_r(&end, &utc));
	snprintf(totals, sizeof(totals),
		 " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\"", count,
		 counts[JUNIT_FAILED], counts[JUNIT_ERROR], counts[JUNIT_SKIPPED], seconds);
	buffer_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites%s>\n  <testsuite",
		      totals);
	add_attribute(out, "name", suite);
	buffer_printf(out, "%s timestamp=\"%s\"", totals, now);
	CLEANUP_FREE char *host = system_host_name();
	add_attribute(out, "hostname", host);
	buffer_printf(out, ">\n");
	for (size_t i = 0; i < count; i++)
		add_case(out, &cases[i]);
	buffer_printf(out, "  </testsuite>\n</testsuites>\n");
}
