// pdb_names FILE.pdb: names and lines for the addresses on standard input, as `llvm-symbolizer
// --functions=short
// --relative-address` prints them (without columns).
#include "base/file.h"
#include "symbol/windows/pdb.h"

#include <inttypes.h>
#include <stdio.h>

static void print_place(struct pdb *pdb, uint64_t address) {
	struct pdb_function found[PDB_MOST_FUNCTIONS];
	struct pdb_source lines[PDB_MOST_FUNCTIONS];
	struct code_range range = CODE_RANGE_ALL;
	size_t count = pdb_functions(pdb, address, true, found, &range);
	size_t known = pdb_lines(pdb, address, lines, PDB_MOST_FUNCTIONS);
	if (!count)
		printf("??\n??:0\n");
	for (size_t i = 0; i < count; i++) {
		const char *file = i < known ? lines[i].file : NULL;
		printf("%s\n%s:%" PRIu32 "\n", found[i].name ? found[i].name : "??", file ? file : "??",
		       i < known ? lines[i].line : 0);
	}
	if (count && (range.begin > address || range.end <= address))
		printf("the range of the answer is without its address\n");
	printf("\n");
}

int main(int argc, char **argv) {
	struct input file;
	uint64_t address;
	if (argc != 2 || input_open(&file, argv[1]))
		return 2;
	struct pdb *pdb = pdb_open(file.data, file.size);
	if (!pdb)
		return 1;
	while (scanf("%" SCNx64, &address) == 1)
		print_place(pdb, address);
	pdb_close(pdb);
	input_close(&file);
	return 0;
}
