#include "write/dhat.h"

#include "base/json.h"

static void write_head(struct json *json, const struct dhat_profile *profile) {
	enum { SHORT_LIVED = 10 }; // the viewer's "short-lived", in our unit of time
	json_uint(json, "dhatFileVersion", 2);
	json_string(json, "mode", "heap");
	json_string(json, "verb", "Allocated");
	json_bool(json, "bklt", true);   // blocks have lifetimes
	json_bool(json, "bkacc", false); // accesses to them are not counted
	json_string(json, "tu", "µs");
	json_string(json, "Mtu", "s");
	json_uint(json, "tuth", SHORT_LIVED);
	json_string(json, "cmd", profile->command);
	json_uint(json, "pid", profile->pid);
	if (profile->sample) // not part of DHAT: its viewer ignores unknown keys
		json_uint(json, "estimatedFromSamplesEvery", profile->sample);
	json_uint(json, "te", profile->end);
	json_uint(json, "tg", profile->peak);
}

static void write_point(struct json *json, const struct dhat_profile *profile,
			const struct dhat_point *point) {
	json_object(json, NULL);
	json_uint(json, "tb", point->total_bytes);
	json_uint(json, "tbk", point->total_blocks);
	json_uint(json, "tl", point->life);
	json_uint(json, "mb", point->most_bytes);
	json_uint(json, "mbk", point->most_blocks);
	json_uint(json, "gb", point->peak_bytes);
	json_uint(json, "gbk", point->peak_blocks);
	json_uint(json, "eb", point->end_bytes);
	json_uint(json, "ebk", point->end_blocks);
	json_array(json, "fs");
	for (size_t i = 0; i < point->frame_count; i++)
		json_uint(json, NULL, 1 + profile->stacks.items[point->first_frame + i]);
	json_close_array(json);
	json_close_object(json);
}

int dhat_write(struct output *output, const struct dhat_profile *profile) {
	struct buffer text = {0};
	struct json json = json_into(&text);
	json_object(&json, NULL);
	write_head(&json, profile);
	json_array(&json, "pps");
	for (size_t i = 0; i < profile->points.count; i++) {
		write_point(&json, profile, &profile->points.items[i]);
		buffer_append(&text, "\n", 1);
	}
	json_close_array(&json);
	json_array(&json, "ftbl");
	json_string(&json, NULL, "[root]");
	for (size_t i = 0; i < profile->frames.count; i++)
		json_string(&json, NULL, profile->frames.items[i]);
	json_close_array(&json);
	json_close_object(&json);
	buffer_append(&text, "\n", 1);
	int error = output_write(output, text.data, text.size);
	buffer_free(&text);
	return error;
}

int dhat_save(const char *path, const struct dhat_profile *profile, enum output_mode mode) {
	struct output output;
	int error = output_open(&output, path, mode);
	if (error)
		return error;
	error = dhat_write(&output, profile);
	if (!error)
		error = output_commit(&output);
	output_abandon(&output);
	return error;
}
