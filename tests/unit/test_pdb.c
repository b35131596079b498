// PDB and PE files: what is found at an address, and what damage costs.
#include "../etl/pdb_sample.h"
#include "symbol/windows/pe.h"
#include "unit.h"

static struct pdb_function found[PDB_MOST_FUNCTIONS];
static struct pdb_source lines[PDB_MOST_FUNCTIONS];

static size_t look(struct pdb *pdb, uint64_t address, struct code_range *range) {
	*range = CODE_RANGE_ALL;
	return pdb_functions(pdb, address, true, found, range);
}

static void test_functions_and_lines(void **state) {
	struct buffer file = sample_pdb();
	struct pdb *pdb = pdb_open(file.data, file.size);
	struct code_range range;
	assert_non_null(pdb);
	assert_string_equal(pdb_id(pdb), "0102030405060708090a0b0c0d0e0f102");
	assert_int_equal(look(pdb, 0x1010, &range), 1);
	assert_string_equal(found[0].name, "run");
	assert_int_equal(range.begin, 0x1010);
	assert_int_equal(range.end, 0x1018);
	assert_int_equal(look(pdb, 0x101d, &range), 3);
	assert_string_equal(found[0].name, "Pool::take");
	assert_string_equal(found[1].name, "geo::helper");
	assert_string_equal(found[2].name, "run");
	assert_int_equal(range.begin, 0x101c);
	assert_int_equal(range.end, 0x1020);
	assert_int_equal(pdb_lines(pdb, 0x101d, lines, PDB_MOST_FUNCTIONS), 3);
	assert_int_equal(lines[0].line, 200);
	assert_int_equal(lines[1].line, 101);
	assert_int_equal(lines[2].line, 11);
	assert_string_equal(lines[2].file, "run.c");
	range = CODE_RANGE_ALL;
	assert_int_equal(pdb_declarations(pdb, 0x101d, lines, PDB_MOST_FUNCTIONS, &range), 3);
	assert_int_equal(lines[2].line, 10);
	pdb_close(pdb);
	buffer_free(&file);
}

static void test_public_symbols(void **state) {
	struct buffer file = sample_pdb();
	struct pdb *pdb = pdb_open(file.data, file.size);
	struct code_range range;
	assert_int_equal(look(pdb, 0x1300, &range), 1);
	assert_string_equal(found[0].name, "pub::only");
	// `run` ends at 0x1050, and what follows has no name.
	assert_int_equal(look(pdb, 0x1050, &range), 0);
	assert_int_equal(range.begin, 0x1050);
	assert_int_equal(look(pdb, 0x2000, &range), 0);
	assert_int_equal(look(pdb, UINT64_MAX, &range), 0);
	pdb_close(pdb);
	buffer_free(&file);
}

// Every byte in turn is changed: nothing is read outside the file, and answers stay in order.
static void test_damage(void **state) {
	struct buffer file = sample_pdb();
	for (size_t i = 0; i < file.size; i++) {
		for (int k = 0; k < 2; k++) {
			uint8_t before = file.data[i];
			file.data[i] = k ? 0xff : before ^ 0x21;
			struct pdb *pdb = pdb_open(file.data, file.size);
			for (uint64_t at = 0x1000; pdb && at < 0x1300; at += 13) {
				struct code_range range;
				size_t count = look(pdb, at, &range);
				assert_true(count <= PDB_MOST_FUNCTIONS);
				assert_true(!count || (range.begin <= at && at < range.end));
				pdb_lines(pdb, at, lines, PDB_MOST_FUNCTIONS);
			}
			pdb_close(pdb);
			file.data[i] = before;
		}
	}
	buffer_free(&file);
}

static void test_cut(void **state) {
	struct buffer file = sample_pdb();
	for (size_t size = 0; size < file.size; size += 37) {
		uint8_t *copy = memory_alloc(size + 1);
		memcpy(copy, file.data, size);
		pdb_close(pdb_open(copy, size));
		free(copy);
	}
	buffer_free(&file);
}

static void test_decorated_names(void **state) {
	static const struct {
		const char *decorated, *name; // NULL: stays as it is
	} cases[] = {
		{"?run@Pool@ns@@QEAAXXZ", "ns::Pool::run"},
		{"??0Pool@ns@@QEAA@XZ", "ns::Pool::Pool"},
		{"??1Pool@@QEAA@XZ", "Pool::~Pool"},
		{"??4Pool@ns@@QEAAAEAV01@AEBV01@@Z", "ns::Pool::operator="},
		{"??_GPool@@UEAAPEAXI@Z", "Pool::`scalar deleting destructor'"},
		{"?a@?A0x1234abcd@@YAXXZ", "`anonymous namespace'::a"},
		{"?same@0ns@@YAXXZ", "ns::same::same"},
		{"??$biggest@H@geo@@YAHHH@Z", NULL},
		{"?f@?1??g@@YAXXZ@4HA", NULL},
		{"memcpy", NULL},
		{"?", NULL},
		{"??", NULL},
		{"?@", NULL},
		{"?cut", NULL},
		{"?9@@", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *name = undecorate(cases[i].decorated);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
		free(name);
	}
}

static void test_not_these_files(void **state) {
	static const uint8_t nothing[600] = "MZ";
	struct pe pe;
	struct pe_names names;
	assert_null(pdb_open(nothing, sizeof(nothing)));
	assert_null(pdb_open(nothing, 0));
	assert_false(pe_read(&pe, nothing, sizeof(nothing), &names));
	assert_false(pe_read(&pe, nothing, 0, &names));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_and_lines),
		cmocka_unit_test(test_public_symbols),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_decorated_names),
		cmocka_unit_test(test_not_these_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
