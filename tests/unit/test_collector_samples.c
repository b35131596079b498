// What a client of the collector gets of a stack: names instead of kernel addresses, and nothing that was in
// the programs' memory before.
#include "collector/samples.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { KERNEL_FUNCTIONS = 6 };

// The kernel of this test: functions of 0x100 bytes each.
static const uint64_t kernel_text = 0xffffffffa1000000;
static const char *const functions[KERNEL_FUNCTIONS] = {
	"_text", "asm_sysvec_irq_work", "schedule", "my_driver_wait", "futex_wait", "do_syscall_64"};

static bool resolve(void *context, uint64_t address, char name[COLLECTOR_NAME_SIZE], uint64_t *start) {
	uint64_t number = (address - kernel_text) / 0x100;
	if (address < kernel_text || number >= KERNEL_FUNCTIONS)
		return false;
	snprintf(name, COLLECTOR_NAME_SIZE, "%s", functions[number]);
	*start = kernel_text + number * 0x100;
	return true;
}

static uint64_t in(unsigned function) {
	return kernel_text + function * 0x100 + 7;
}

struct client {
	struct samples *samples;
	struct samples_told told;
	char names[KERNEL_FUNCTIONS + 1][COLLECTOR_NAME_SIZE];
	uint64_t numbers[KERNEL_FUNCTIONS + 1];
	size_t named;
	bool full; // its socket
	uint8_t got[SAMPLES_MOST_BATCH] __attribute__((aligned(8)));
};

static bool tell(void *context, struct collector_name *name) {
	struct client *client = context;
	if (client->full)
		return false;
	memcpy(client->names[client->named], name->name, COLLECTOR_NAME_SIZE);
	client->numbers[client->named++] = name->address;
	return true;
}

static size_t rewrite(struct client *client, const void *batch, bool whole) {
	return samples_rewrite(client->samples, batch, whole, &client->told, tell, client, client->got);
}

// The name that the client knows for a word of what it got.
static const char *name_of(const struct client *client, uint64_t word) {
	for (size_t i = 0; i < client->named; i++)
		if (word - client->numbers[i] < COLLECTOR_NAME_RANGE)
			return client->names[i];
	return NULL;
}

// A stack as the programs write it: old bytes wherever nothing was written.
struct ring_sample {
	struct batch batch;
	struct record_sample sample;
	uint64_t addresses[SAMPLE_ADDRESSES];
	struct sample_copied copied;
	uint8_t bytes[104];
};

static struct ring_sample wait_of(const uint64_t *kernel, size_t count, uint32_t copied) {
	struct ring_sample sample;
	memset(&sample, 0xee, sizeof(sample));
	sample.sample = (struct record_sample){
		.head = {.kind = RECORD_SAMPLE, .flags = SAMPLE_BLOCKED | SAMPLE_STACK_COPIED},
		.tid = 12,
		.pid = 11,
		.period = SAMPLE_WAIT_ENDS,
		.kernel_frames = (uint16_t)(SAMPLE_WAIT_WORDS + count)};
	sample.addresses[0] = 5000000;
	sample.addresses[1] = 70;
	memcpy(sample.addresses + SAMPLE_WAIT_WORDS, kernel, count * sizeof(*kernel));
	sample.copied = (struct sample_copied){.pc = 0x401000, .stack = 0x7ffc1000, .size = copied};
	memset(sample.bytes, 0xaa, copied);
	uint32_t size = (uint32_t)(offsetof(struct ring_sample, bytes) - sizeof(struct batch)) +
			((copied + 7) & ~7u);
	sample.sample.head.size = (uint16_t)size;
	sample.batch = (struct batch){.base = 1234, .cpu = 3, .size = size};
	return sample;
}

static struct client client_new(void) {
	return (struct client){.samples = samples_new(resolve, NULL)};
}

static void users_get_what_a_wait_is_for(void **state) {
	struct client client = client_new();
	uint64_t stack[] = {in(1), in(2), in(3), in(4), in(5)};
	struct ring_sample wait = wait_of(stack, 5, 20);
	const struct ring_sample *got = (const void *)client.got;
	assert_true(samples_are_in(&wait.batch));
	assert_int_equal(rewrite(&client, &wait, false), sizeof(struct batch) + wait.batch.size);
	assert_int_equal(got->sample.kernel_frames, SAMPLE_WAIT_WORDS + 2);
	assert_int_equal(got->addresses[0], 5000000);
	assert_int_equal(got->addresses[1], 70);
	assert_string_equal(name_of(&client, got->addresses[2]), "my_driver_wait"); // called the scheduler
	assert_string_equal(name_of(&client, got->addresses[3]), "futex_wait");     // says why
	assert_int_equal(client.named, 2);
	for (size_t i = 4; i < SAMPLE_ADDRESSES; i++)
		assert_int_equal(got->addresses[i], 0);
	assert_int_equal(got->copied.size, 20);
	for (size_t i = 0; i < 24; i++)
		assert_int_equal(got->bytes[i], i < 20 ? 0xaa : 0);
	samples_free(client.samples);
}

static void root_gets_the_whole_kernel_stack(void **state) {
	struct client client = client_new();
	uint64_t stack[] = {in(1), in(2), kernel_text + 0x10000, in(4)}; // the third has no name
	struct ring_sample wait = wait_of(stack, 4, 0);
	const struct ring_sample *got = (const void *)client.got;
	assert_true(rewrite(&client, &wait, true));
	assert_int_equal(got->sample.kernel_frames, SAMPLE_WAIT_WORDS + 3);
	assert_string_equal(name_of(&client, got->addresses[2]), "asm_sysvec_irq_work");
	assert_string_equal(name_of(&client, got->addresses[4]), "futex_wait");
	samples_free(client.samples);
}

static void no_kernel_address_reaches_any_client(void **state) {
	uint64_t stack[] = {in(1), in(2), in(3), in(4), in(5)};
	for (int whole = 0; whole < 2; whole++) {
		struct client client = client_new();
		struct ring_sample wait = wait_of(stack, 5, 64);
		size_t size = rewrite(&client, &wait, whole);
		for (size_t at = 0; at + 8 <= size; at += 8) {
			uint64_t word;
			memcpy(&word, client.got + at, sizeof(word));
			assert_false(word >= kernel_text && word < kernel_text + KERNEL_FUNCTIONS * 0x100);
			assert_int_not_equal(word, 0xeeeeeeeeeeeeeeee);
		}
		samples_free(client.samples);
	}
}

static void a_name_is_told_once_and_before_its_stack(void **state) {
	struct client client = client_new();
	uint64_t stack[] = {in(2), in(4)};
	struct ring_sample wait = wait_of(stack, 2, 8);
	client.full = true;
	assert_int_equal(rewrite(&client, &wait, false), 0);
	client.full = false;
	assert_true(rewrite(&client, &wait, false));
	assert_true(rewrite(&client, &wait, false));
	assert_int_equal(client.named, 1);
	samples_free(client.samples);
}

static void other_batches_are_not_stacks(void **state) {
	struct {
		struct batch batch;
		struct record record;
	} other = {.batch = {.size = sizeof(struct record)}, .record = {.kind = RECORD_CRASH}};
	assert_false(samples_are_in(&other.batch));
	other.batch.size = 0;
	assert_false(samples_are_in(&other.batch));
}

static void broken_stacks_become_nothing(void **state) {
	struct client client = client_new();
	uint64_t stack[] = {in(2)};
	struct ring_sample wait = wait_of(stack, 1, 8);
	const struct batch *got = (const void *)client.got;
	wait.copied.size = 1000; // more than there is
	assert_int_equal(rewrite(&client, &wait, true), sizeof(struct batch));
	assert_int_equal(got->size, 0);
	wait = wait_of(stack, 1, 8);
	wait.sample.kernel_frames = 1000;
	assert_int_equal(rewrite(&client, &wait, true), sizeof(struct batch));
	samples_free(client.samples);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_get_what_a_wait_is_for),
		cmocka_unit_test(root_gets_the_whole_kernel_stack),
		cmocka_unit_test(no_kernel_address_reaches_any_client),
		cmocka_unit_test(a_name_is_told_once_and_before_its_stack),
		cmocka_unit_test(other_batches_are_not_stacks),
		cmocka_unit_test(broken_stacks_become_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
