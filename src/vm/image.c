#include "vm/image.h"
#include "base/log.h"
#include "guest/agent/agent.h"
#include "vm/cpio.h"
#include "vm/needed.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_needed(void *context, const char *path, const char *file) {
	if (!cpio_copy(context, path, file))
		log_warning("%s: not copied to the guest: %s", file, strerror(errno));
}

static void miss_needed(void *context, const char *name, const char *by) {
	log_warning("%s: not found on this machine (needed by %s)", name, by);
}

// A file of this machine and everything it needs.
static int add_program(struct cpio *cpio, const char *file, const char *path) {
	struct needed_reader reader = {.found = add_needed, .missing = miss_needed, .context = cpio};
	if (!cpio_copy(cpio, path, file)) {
		int error = -errno;
		log_error("%s: cannot be copied to the guest: %s", file, strerror(-error));
		return error;
	}
	needed_by(file, &reader);
	return 0;
}

// Programs and libraries in a directory may need others outside it.
static void add_needs_of_tree(struct cpio *cpio, const char *folder) {
	struct needed_reader reader = {.found = add_needed, .missing = miss_needed, .context = cpio};
	char *roots[] = {(char *)(uintptr_t)folder, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; walk && (entry = fts_read(walk));)
		if (entry->fts_info == FTS_F &&
		    (entry->fts_statp->st_mode & 0111 || strstr(entry->fts_name, ".so")))
			needed_by(entry->fts_path, &reader);
	if (walk)
		fts_close(walk);
}

// FILE or FILE=PATH.
static int add_addition(struct cpio *cpio, const char *text) {
	const char *equals = strchr(text, '=');
	CLEANUP_FREE char *file = memory_format("%.*s", (int)(equals ? equals - text : (ssize_t)strlen(text)),
						text);
	CLEANUP_FREE char *whole = realpath(file, NULL);
	const char *path = equals ? equals + 1 : whole ? whole : file;
	if (*path != '/') {
		log_error("--add: '%s': the path in the guest must be absolute", text);
		return -EINVAL;
	}
	struct stat status;
	if (stat(file, &status) || !S_ISDIR(status.st_mode))
		return add_program(cpio, file, path);
	cpio_tree(cpio, file, path);
	add_needs_of_tree(cpio, file);
	return 0;
}

// Helpers that the agent looks for next to itself: for stacks of tests that hang or crash, and for --heap.
static void add_helpers(struct cpio *cpio, const char *agent) {
	static const char *const helpers[] = {"tracelet-stacks", "libtracelet-heap.so",
					      "libtracelet-cmocka.so"};
	const char *slash = strrchr(agent, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(helpers); i++) {
		CLEANUP_FREE char *file = memory_format("%.*s/%s", (int)(slash - agent), agent, helpers[i]);
		CLEANUP_FREE char *path = memory_format("/tracelet/%s", helpers[i]);
		if (access(file, R_OK) == 0)
			add_program(cpio, file, path);
	}
}

static void add_basics(struct cpio *cpio) {
	static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n";
	static const char group[] = "root:x:0:\nnogroup:x:65534:\n";
	static const char *const folders[] = {"/proc", "/sys",  "/dev", "/tmp",
					      "/run",  "/root", "/etc", "/bin"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		cpio_folder(cpio, folders[i], 0755);
	cpio_bytes(cpio, "/etc/passwd", 0644, passwd, sizeof(passwd) - 1);
	cpio_bytes(cpio, "/etc/group", 0644, group, sizeof(group) - 1);
}

// Read by the agent as process 1 (guest/agent/init.c): where tests run, and their variables.
static void add_surroundings(struct cpio *cpio, const struct image_options *options) {
	struct buffer variables = {0};
	if (options->folder && *options->folder == '/' && options->folder[1]) {
		cpio_folder(cpio, options->folder, 0755);
		cpio_link(cpio, INIT_FOLDER, options->folder);
	}
	for (size_t i = 0; options->variables && options->variables[i]; i++)
		buffer_append(&variables, options->variables[i], strlen(options->variables[i]) + 1);
	if (variables.size)
		cpio_bytes(cpio, INIT_VARIABLES, 0600, variables.data, variables.size);
	buffer_free(&variables);
}

// The agent loads them in the order of their names.
static int add_modules(struct cpio *cpio, const struct vm_kernel *kernel) {
	for (size_t i = 0; i < kernel->modules.count; i++) {
		const struct vm_module *module = &kernel->modules.items[i];
		CLEANUP_FREE char *path = memory_format("/modules/%02zu-%s.ko", i, module->name);
		if (!cpio_copy(cpio, path, module->file)) {
			log_error("%s: cannot be read: %s", module->file, strerror(errno));
			return -errno;
		}
	}
	return 0;
}

static int add_all(struct cpio *cpio, const struct image_options *options) {
	// The first entry of a name wins: ours, then the user's.
	if (!cpio_copy(cpio, IMAGE_INIT, options->agent)) {
		log_error("%s: cannot be read: %s", options->agent, strerror(errno));
		return -errno;
	}
	int error = add_modules(cpio, options->kernel);
	if (!error && options->program)
		error = add_program(cpio, options->program, options->program);
	for (size_t i = 0; !error && options->additions && options->additions[i]; i++)
		error = add_addition(cpio, options->additions[i]);
	if (error)
		return error;
	if (!options->foreign)
		add_helpers(cpio, options->agent);
	if (options->rootfs)
		cpio_tree(cpio, options->rootfs, "");
	else if (!options->initrd && !options->foreign && access("/bin/sh", X_OK) == 0)
		add_program(cpio, "/bin/sh", "/bin/sh"); // many programs start a shell
	if (!options->initrd)
		add_basics(cpio);
	add_surroundings(cpio, options);
	return 0;
}

// Archives may follow one another; each begins at a multiple of four.
static int begin_with(struct output *output, const char *initrd) {
	static const char zeros[4];
	struct input input;
	int error = input_open(&input, initrd);
	if (error) {
		log_error("%s: cannot be read: %s", initrd, strerror(-error));
		return error;
	}
	output_write(output, input.data, input.size);
	output_write(output, zeros, -input.size & 3);
	input_close(&input);
	return 0;
}

int image_write(const struct image_options *options, const char *path) {
	struct output output;
	struct cpio cpio = {.output = &output};
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", path, strerror(-error));
		return error;
	}
	error = options->initrd ? begin_with(&output, options->initrd) : 0;
	if (!error)
		error = add_all(&cpio, options);
	int written = cpio_end(&cpio);
	if (!error && !written)
		written = output_commit(&output);
	if (!error && written)
		log_error("cannot create the guest's file system: %s", strerror(-written));
	output_abandon(&output);
	return error ? error : written;
}
