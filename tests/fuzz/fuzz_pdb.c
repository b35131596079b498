#include "fuzz.h"

#include "../etl/pdb_sample.h"
#include "symbol/windows/pdb.h"

// An answer counts for a range around its address.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct pdb *pdb = pdb_open(bytes, size);
	struct pdb_function found[PDB_MOST_FUNCTIONS];
	struct pdb_source lines[PDB_MOST_FUNCTIONS];
	for (uint64_t at = 0x1000; pdb && at < 0x1400; at += 12) {
		struct code_range range = CODE_RANGE_ALL;
		size_t count = pdb_functions(pdb, at, true, found, &range);
		if (count > PDB_MOST_FUNCTIONS || (count && (at < range.begin || at >= range.end)))
			abort();
		pdb_lines(pdb, at, lines, PDB_MOST_FUNCTIONS);
		range = CODE_RANGE_ALL;
		pdb_declarations(pdb, at, lines, PDB_MOST_FUNCTIONS, &range);
	}
	pdb_close(pdb);
	return 0;
}

void fuzz_seeds(void) {
	struct buffer seed = sample_pdb();
	fuzz_seed("small", &seed);
}
