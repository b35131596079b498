#include "cli/profile_options.h"

#include "base/log.h"
#include "cli/verb.h"

static int choose_reader(struct profile_input *input, const char *name) {
	input->reader = reader_by_name(name);
	if (!input->reader) {
		log_error("there is no input format '%s'; 'tracelet convert --help' lists them", name);
		return EXIT_USAGE;
	}
	return 0;
}

int profile_option(struct profile_input *input, int option, const char *value) {
	struct profile_options *options = &input->options;
	switch (option) {
	case OPTION_PID:
		options->pid = true;
		break;
	case OPTION_TID:
		options->tid = true;
		break;
	case OPTION_KERNEL:
		options->kernel = true;
		break;
	case OPTION_JIT:
		options->jit = true;
		break;
	case OPTION_ALL:
		options->kernel = options->jit = true;
		break;
	case OPTION_ADDRS:
		options->addresses = true;
		break;
	case OPTION_EVENT_FILTER:
		options->event = value;
		break;
	case OPTION_ALL_EVENTS:
		options->every_event = true;
		break;
	case OPTION_INLINE:
		options->no_inline = false;
		break;
	case OPTION_NO_INLINE:
		options->no_inline = true;
		break;
	case OPTION_SRCLINE:
		options->source = true;
		break;
	case OPTION_FROM:
		return choose_reader(input, value);
	case 'q':
		log_set_level(LOG_QUIET);
		break;
	default:
		return EXIT_USAGE;
	}
	return 0;
}
