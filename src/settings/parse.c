// From the text of a setting to the value of its field.
#include "settings/parse.h"
#include "base/descriptor.h"
#include "base/system.h"
#include "settings/variant.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool settings_parse_size(const char *text, size_t *size) {
	static const char units[] = "KMGT";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, toupper(*end)) : NULL;
	if (end == text || !isdigit(*text) || (*end && (!unit || end[1])))
		return false;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*size = (size_t)value << shift;
	return *size >> shift == value;
}

bool settings_parse_seconds(const char *text, double *seconds) {
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	*seconds = strtod(text, &end);
	bool known = !*end;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(end, units[i].unit) == 0) {
			*seconds *= units[i].seconds;
			known = true;
		}
	return end != text && known && *seconds >= 0 && *seconds < 1e9;
}

static bool parse_number(const struct setting *setting, const char *text, int *number) {
	char *end;
	long value = strtol(text, &end, 10);
	*number = (int)value;
	return isdigit(*text) && !*end && (double)value >= setting->least && (double)value <= setting->most;
}

int setting_yes_no(const char *text) {
	static const char *const words[][4] = {{"no", "false", "off", "0"}, {"yes", "true", "on", "1"}};
	for (int answer = 0; answer < 2; answer++)
		for (size_t i = 0; i < ARRAY_SIZE(words[answer]); i++)
			if (strcasecmp(text, words[answer][i]) == 0)
				return answer;
	return -1;
}

static bool parse_choice(const struct setting *setting, const char *text, int *choice) {
	for (int i = 0; setting->choices[i]; i++)
		if (strcasecmp(text, setting->choices[i]) == 0) {
			*choice = i;
			return true;
		}
	// "yes" and "no" as a choice have the same other spellings as elsewhere.
	const char *word = setting_yes_no(text) == 1 ? "yes" : setting_yes_no(text) == 0 ? "no" : NULL;
	return word && strcasecmp(word, text) != 0 && parse_choice(setting, word, choice);
}

static bool descriptor_is_closed(const char *name) {
	int fd = descriptor_named(name);
	return fd >= 0 && !system_is_open(fd);
}

// EVENT@PERIOD or EVENT@NUMBERhz; what the event is, is looked at when the machine is known.
static bool is_overflow(const char *text) {
	const char *at = strrchr(text, '@');
	size_t digits = at ? strspn(at + 1, "0123456789") : 0;
	return digits && digits < 19 && at > text && strspn(at + 1, "0") < digits &&
	       (!at[1 + digits] || strcasecmp(at + 1 + digits, "hz") == 0);
}

const char *setting_keep(struct settings *settings, char *text) {
	array_push(&settings->owned, text);
	return text;
}

// One more is recorded together with those before.
static bool parse_profile(struct settings *settings, const char *text) {
	settings->profile = settings->profile
				    ? setting_keep(settings, memory_format("%s+%s", settings->profile, text))
				    : text;
	return true;
}

static bool parse_variant(struct settings *settings, const char *text) {
	char *variant = variant_add(settings->variant, text);
	if (!variant)
		return false;
	settings->variant = setting_keep(settings, variant);
	return true;
}

static bool parse(struct settings *settings, const struct setting *setting, const char *text) {
	void *field = (char *)settings + setting->offset;
	int answer;
	switch (setting->type) {
	case TYPE_TEXT:
	case TYPE_FOLDER:
	case TYPE_TARGET:
		*(const char **)field = text;
		return setting->type == TYPE_TEXT ||
		       (*text && !(setting->type == TYPE_TARGET && descriptor_is_closed(text)));
	case TYPE_SECONDS:
		if (setting->unset < 0 && !isdigit(*text) && setting_yes_no(text) == 0) {
			*(double *)field = setting->unset;
			return true;
		}
		return settings_parse_seconds(text, field);
	case TYPE_SIZE:
		return settings_parse_size(text, field) && (double)*(size_t *)field >= setting->least &&
		       (double)*(size_t *)field <= setting->most;
	case TYPE_NUMBER:
		return parse_number(setting, text, field);
	case TYPE_CHOICE:
		return parse_choice(setting, text, field);
	case TYPE_SAMPLES:
		settings->sample_event = is_overflow(text) ? text : NULL;
		if (settings->sample_event)
			return parse(settings, setting, setting->bare) && (settings->sample_event = text);
		answer = setting_yes_no(text);
		*(int *)field = answer == 1 && text[1] ? atoi(setting->bare) : atoi(text);
		return answer == 0 || (*(int *)field > 0 && *(int *)field <= 20000 &&
				       (answer == 1 || text[strspn(text, "0123456789")] == 0));
	case TYPE_PROCESS:
		*(int *)field = atoi(text);
		return *(int *)field > 0 && text[strspn(text, "0123456789")] == 0 &&
		       system_process_exists(*(int *)field);
	case TYPE_VARIANT:
		return parse_variant(settings, text);
	case TYPE_PROFILE:
		return parse_profile(settings, text);
	case TYPE_YES_NO:
		answer = setting_yes_no(text);
		*(bool *)field = answer == 1;
		return answer >= 0;
	}
	return false;
}

// A place with more weight replaces what one with less has collected.
static void begin_origin(struct settings *settings, enum setting_id id, enum setting_origin origin) {
	if (settings->origins[id] == origin)
		return;
	if (id == SETTING_VARIANT)
		settings->variant = NULL;
	if (id == SETTING_PROFILE)
		settings->profile = NULL;
}

bool setting_take(struct settings *settings, enum setting_id id, enum setting_origin origin,
		  const char *text) {
	begin_origin(settings, id, origin);
	if (!parse(settings, &setting_table[id], text))
		return false;
	settings->origins[id] = origin;
	return true;
}
