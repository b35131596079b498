// The article about a test. What matters is plain HTML, without styles of its own: it reads with JavaScript
// off and where a policy blocks styles, as for the artifacts of Jenkins. The columns come after it.
#include "flow/report.h"

#include "analyse/table.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/system.h"
#include "base/text.h"
#include "write/page/html.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum {
	MOST_OUTPUT = 16 << 10,
	MOST_STACKS = 32 << 10,
	MOST_SEGMENTS = 12,
	MOST_CHANGES = 8,
	MANY_STATES = 200 * 1000
};

static void put_link(struct buffer *out, const char *path) {
	for (const char *at = path; *at; at++)
		if (isalnum((unsigned char)*at) || strchr("-_.~/", *at))
			buffer_append(out, at, 1);
		else
			buffer_printf(out, "%%%02X", (unsigned char)*at);
}

// ---- what the test printed ----

static void put_output(struct buffer *out, const struct report_article *article) {
	const char *text = article->output;
	size_t size = article->output_size, skip = size > MOST_OUTPUT ? size - MOST_OUTPUT : 0;
	if (!text || !size)
		return;
	const char *line = skip ? memchr(text + skip, '\n', size - skip) : NULL;
	skip = line ? (size_t)(line + 1 - text) : skip;
	buffer_text(out,
		    skip ? "<h2>The end of what it printed</h2>\n<pre>" : "<h2>What it printed</h2>\n<pre>");
	report_printed(out, text + skip, size - skip);
	buffer_text(out, "</pre>\n");
}

// ---- crashes and hangs ----

static void put_crashes(struct buffer *out, const struct manifest_record *record) {
	for (size_t i = 0; i < record->crashes.count; i++) {
		const struct manifest_crash *crash = &record->crashes.items[i];
		CLEANUP_FREE char *title = memory_format("%s in %s (%" PRIu64 ")",
							 crash->name ? crash->name : "Crash",
							 crash->thread ? crash->thread : "?", crash->tid);
		page_cell(out, "h2", title);
		buffer_text(out, "<pre class=\"stack\">");
		for (size_t j = 0; j < crash->stack.count; j++) {
			report_printed(out, crash->stack.items[j], strlen(crash->stack.items[j]));
			buffer_text(out, "\n");
		}
		buffer_text(out, crash->stack.count ? "</pre>\n" : "The stack is not known.</pre>\n");
	}
}

static void put_stacks(struct buffer *out, const struct report_record *record) {
	CLEANUP_FREE char *path = report_artifact(record, "stacks");
	struct input input;
	if (!path || input_open(&input, path))
		return;
	buffer_text(out, "<h2>Where its threads were when the time was over</h2>\n<pre>");
	report_printed(out, (const char *)input.data, MIN(input.size, (size_t)MOST_STACKS));
	buffer_text(out, input.size > MOST_STACKS ? "\n…</pre>\n" : "</pre>\n");
	input_close(&input);
}

// ---- tables ----

static void put_place(struct buffer *out, const struct why *why, uint32_t own) {
	struct why_place place = why_place(why, own);
	buffer_text(out, "<td>");
	page_text(out, place.function ? place.function : "");
	if (place.file) {
		CLEANUP_FREE char *where = memory_format(" %s:%" PRIu32, system_base_name(place.file),
							 place.line);
		page_cell(out, "span class=\"soft\"", where);
	}
	buffer_text(out, "</td>");
}

static void put_segments(struct buffer *out, const struct why *why) {
	double whole = (double)MAX(why->to - why->from, 1ul);
	buffer_text(out, "<section class=\"plain\"><h2>Where the time went</h2>\n<div "
			 "class=\"card\"><table><thead><tr><th "
			 "class=\"number\">time</th><th class=\"number\">"
			 "share</th><th>thread</th><th>state</th><th>reason</th><th>function</th><th>ended "
			 "by</th></tr>"
			 "</thead><tbody>\n");
	for (size_t i = 0; i < MIN(why->segments.count, (size_t)MOST_SEGMENTS); i++) {
		const struct why_segment *segment = &why->segments.items[i];
		buffer_text(out, "<tr>");
		report_duration(out, segment->ns);
		buffer_printf(out, "<td class=\"number\">%.1f %%</td>", 100 * (double)segment->ns / whole);
		page_cell(out, "td", timeline_name(why->timeline, segment->thread));
		page_cell(out, "td", path_state_names[segment->state]);
		page_cell(out, "td", reason_names[segment->reason]);
		put_place(out, why, segment->own);
		page_cell(out, "td", segment->waker ? timeline_name(why->timeline, segment->waker) : "");
		buffer_text(out, "</tr>\n");
	}
	buffer_text(out, "</tbody></table></div></section>\n");
}

static void put_changes(struct buffer *out, const struct report_trace *trace) {
	struct why_difference all = {.baseline = trace->difference.baseline};
	why_changes(&all, &trace->parts, &trace->base_parts);
	buffer_text(
		out,
		"<h2>Against the last passing run</h2>\n<div class=\"card\"><table><thead><tr><th "
		"class=\"number\">now</th><th "
		"class=\"number\">then</th><th class=\"number\">difference</th><th>thread</th><th>reason</th>"
		"<th>function</th></tr></thead><tbody>\n<tr>");
	report_duration(out, trace->parts.wall);
	report_duration(out, trace->base_parts.wall);
	buffer_text(out, "<td></td><td><b>all of it</b></td><td></td><td></td></tr>\n");
	for (size_t i = 0; i < MIN(all.changes.count, (size_t)MOST_CHANGES); i++) {
		const struct why_change *change = &all.changes.items[i];
		bool more = change->ns >= change->baseline_ns;
		buffer_text(out, "<tr>");
		report_duration(out, change->ns);
		report_duration(out, change->baseline_ns);
		buffer_printf(out, "<td class=\"number %s\">%s", more ? "more" : "less", more ? "+" : "−");
		why_duration(out, more ? change->ns - change->baseline_ns : change->baseline_ns - change->ns);
		buffer_text(out, "</td>");
		page_cell(out, "td", change->role ? change->role : "");
		page_cell(out, "td", change->reason ? change->reason : "");
		page_cell(out, "td", change->function ? change->function : "");
		buffer_text(out, "</tr>\n");
	}
	buffer_text(out, "</tbody></table></div>\n");
	why_difference_free(&all);
}

// ---- facts and artifacts ----

static void put_fact(struct buffer *out, const char *name, const char *value) {
	if (!value || !*value)
		return;
	buffer_text(out, "<div>");
	page_cell(out, "dt", name);
	page_cell(out, "dd", value);
	buffer_text(out, "</div>\n");
}

static void put_seconds(struct buffer *out, const char *name, double seconds) {
	struct buffer words = {0};
	why_duration(&words, (uint64_t)(MAX(seconds, 0) * 1e9));
	buffer_append(&words, "", 1);
	put_fact(out, name, (const char *)words.data);
	buffer_free(&words);
}

static void put_losses(struct buffer *out, const struct manifest_record *record) {
	uint64_t lost = 0;
	for (size_t i = 0; i < record->lost.count; i++)
		lost += record->lost.items[i].count;
	CLEANUP_FREE char *words = memory_format("%" PRIu64, lost);
	put_fact(out, "events lost", lost ? words : NULL);
}

static void put_facts(struct buffer *out, const struct manifest_record *record) {
	char when[64] = "";
	struct tm tm;
	if (record->there.started == MANIFEST_THERE && gmtime_r(&record->started.tv_sec, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	buffer_text(out, "<dl class=\"facts\">\n");
	put_seconds(out, "took", record->wall_seconds);
	put_seconds(out, "on CPUs", record->cpu_seconds);
	put_fact(out, "started", when);
	CLEANUP_FREE char *commit = record->source_commit ? memory_format("%.12s", record->source_commit)
							  : NULL;
	put_fact(out, "commit", commit);
	put_fact(out, "branch", record->source_branch);
	put_fact(out, "job", record->source_job);
	put_fact(out, "variant", record->variant);
	put_fact(out, "host", record->host);
	put_fact(out, "guest", record->guest);
	put_fact(out, "kernel", record->kernel);
	put_fact(out, "CPU", record->cpu);
	put_fact(out, "profile", record->profile);
	put_losses(out, record);
	buffer_text(out, "</dl>\n");
}

static void put_command(struct buffer *out, const struct manifest_record *record) {
	if (!record->command.count)
		return;
	buffer_text(out, "<p class=\"soft command\"><code>");
	for (size_t i = 0; i < record->command.count; i++) {
		buffer_text(out, i ? " " : "");
		page_text(out, record->command.items[i]);
	}
	buffer_text(out, "</code></p>\n");
}

static void put_trace_file(struct buffer *out, const char *path, uint64_t most) {
	struct input input;
	struct stat status;
	if (system_stat(path, &status) || (uint64_t)status.st_size > most || input_open(&input, path))
		return;
	buffer_text(out, "<li>");
	page_text(out, system_base_name(path));
	buffer_text(
		out,
		" is in this page; it opens in <a href=\"https://ui.perfetto.dev\">ui.perfetto.dev</a>. ");
	page_file(out, system_base_name(path), input.data, input.size);
	buffer_text(out, "</li>\n");
	input_close(&input);
}

static void put_artifacts(struct buffer *out, const struct report_article *article) {
	const struct manifest_record *record = article->record ? &article->record->record : NULL;
	buffer_text(out, "<h2>Files</h2>\n<ul>\n");
	if (article->trace && article->embed_files)
		put_trace_file(out, article->trace, article->most_trace);
	for (size_t i = 0; record && i < record->artifacts.count; i++) {
		const struct manifest_artifact *artifact = &record->artifacts.items[i];
		const char *name = artifact->path ? manifest_artifact_name(artifact->path) : NULL;
		char size[16];
		if (!name)
			continue;
		buffer_text(out, "<li><a href=\"");
		put_link(out, name);
		buffer_text(out, "\">");
		page_text(out, name);
		buffer_printf(out, "</a> <span class=\"soft\">%s</span></li>\n",
			      file_size_words(artifact->size, size));
	}
	buffer_text(out, "</ul>\n");
}

// ---- the article ----

static const char *status_of(const struct report_article *article) {
	return article->record ? report_status(article->record) : "recorded";
}

static void put_head(struct buffer *out, const struct report_article *article) {
	const struct manifest_record *record = article->record ? &article->record->record : NULL;
	buffer_text(out, "<article class=\"test\" data-name=\"");
	page_text(out, article->title);
	if (article->all_tables) {
		buffer_text(out, "\" data-file=\"");
		page_text(out, article->trace);
	}
	buffer_text(out, "\">\n");
	if (article->in_run)
		buffer_text(out, "<p><a class=\"back\" href=\"#\">All tests</a></p>\n");
	buffer_text(out, "<h1>");
	page_text(out, article->title);
	buffer_printf(out, " <span class=\"verdict %s\">", status_of(article));
	page_text(out, record && record->result ? record->result : status_of(article));
	buffer_text(out, "</span></h1>\n");
}

static void put_template(struct buffer *out, const char *attributes, struct columns *columns) {
	buffer_printf(out, "<template %s>", attributes);
	columns_write(columns, out, NULL);
	buffer_text(out, "</template>\n");
}

static bool is_large(const struct page_trace *trace) {
	size_t states = 0;
	for (size_t i = 0; i < trace->threads.count; i++)
		states += trace->threads.items[i].states.count;
	return states >= MANY_STATES;
}

// Of a large recording the page first shows an overview. The rest is at its end, after the code, so that
// browsers need not read it first.
static void put_columns(struct buffer *out, struct report_trace *trace, struct buffer *bulk) {
	struct columns columns;
	bool large = bulk && is_large(&trace->page);
	CLEANUP_FREE char *place = large ? memory_format(" id=\"bulk%zu\"", bulk->size) : memory_string("");
	CLEANUP_FREE char *attributes = memory_format("class=\"columns\"%s", place);
	if (large) {
		CLEANUP_FREE char *overview = memory_format("class=\"overview\" data-bulk=\"bulk%zu\"",
							    bulk->size);
		columns_init(&columns);
		page_trace_overview(&trace->page, &columns);
		put_template(out, overview, &columns);
	}
	columns_init(&columns);
	page_trace_columns(&trace->page, &columns);
	put_template(large ? bulk : out, attributes, &columns);
	if (!trace->tables_set)
		return;
	columns_init(&columns);
	table_set_columns(trace->tables_set, &columns);
	put_template(large ? bulk : out, "class=\"tables\"", &columns);
}

int report_article(struct buffer *out, const struct report_article *article) {
	const struct report_record *record = article->record;
	struct report_trace *trace = article->trace ? memory_alloc(sizeof(*trace)) : NULL;
	CLEANUP_FREE char *before = article->before ? report_artifact(article->before, NULL) : NULL;
	struct report_files files = {.trace = article->trace,
				     .heap = article->heap,
				     .baseline = before,
				     .others = article->others,
				     .all_tables = article->all_tables,
				     .baseline_digest = article->before ? article->before->record.time_digest
									: NULL};
	int error = trace ? report_trace_read(trace, &files) : 0;
	put_head(out, article);
	report_answer(out, error ? NULL : trace, record);
	if (record) {
		put_facts(out, &record->record);
		put_command(out, &record->record);
	}
	put_output(out, article);
	if (record) {
		put_crashes(out, &record->record);
		put_stacks(out, record);
	}
	if (trace && !error) {
		if (trace->compared)
			put_changes(out, trace);
		if (record && article->before)
			report_counts(out, &record->record, &article->before->record);
		buffer_text(out, "<h2>Time line</h2>\n");
		page_trace_picture(&trace->page, out);
		if (trace->explained)
			put_segments(out, &trace->why);
	} else {
		buffer_text(out, error ? "<p>Its trace cannot be read.</p>\n"
				       : "<p>There is no trace of it.</p>\n");
	}
	if (record && !article->output)
		buffer_text(
			out,
			"<p class=\"soft\">What the test printed is not in this page: run leaves it alone. "
			"<code>tracelet each</code> keeps it, and so does a redirection to a file.</p>\n");
	if (record || article->embed_files)
		put_artifacts(out, article);
	if (trace && !error)
		put_columns(out, trace, article->bulk);
	buffer_text(out, "</article>\n");
	if (trace)
		report_trace_free(trace);
	free(trace);
	return error;
}

int report_test_page(struct buffer *out, const struct report_run *run, const struct report_record *record,
		     const char *trace, const char *output, size_t output_size) {
	CLEANUP_FREE char *found = !trace && record ? report_artifact(record, NULL) : NULL;
	CLEANUP_FREE char *heap = record ? report_artifact(record, "heap") : NULL;
	const char *name = record ? (record->record.name ? record->record.name : record->record.test)
				  : system_base_name(trace);
	struct buffer bulk = {0};
	struct why_passes others = {0};
	struct report_article article = {.record = record,
					 .before = record ? report_last_pass(run, record, &others) : NULL,
					 .others = &others,
					 .trace = trace ? trace : found,
					 .heap = heap,
					 .title = name,
					 .output = output,
					 .output_size = output_size,
					 .embed_files = true,
					 .most_trace = 4 << 20,
					 .bulk = &bulk};
	CLEANUP_FREE char *title = memory_format(
		"%s: %s", name, record && record->record.result ? record->record.result : "recording");
	page_begin(out, title);
	int error = report_article(out, &article);
	page_end(out, &bulk);
	buffer_free(&bulk);
	why_passes_free(&others);
	return error;
}

int report_view_page(struct buffer *out, char **files, size_t count, const char *preset) {
	int error = 0;
	struct buffer bulk = {0};
	page_begin(out, system_base_name(files[0]));
	if (preset) {
		buffer_text(out, "<template id=\"preset\">");
		page_text(out, preset);
		buffer_text(out, "</template>\n");
	}
	for (size_t i = 0; i < count && !error; i++) {
		struct report_article article = {.trace = files[i],
						 .title = system_base_name(files[i]),
						 .all_tables = true,
						 .bulk = &bulk};
		error = report_article(out, &article);
	}
	page_end(out, &bulk);
	buffer_free(&bulk);
	return error;
}
