// The ETL files to read as one recording: each a stream of its own, some of them unpacked from archives into
// temporary files.
#pragma once

#include "read/reader.h"

#include <stdio.h>

struct etl_input {
	struct stream *stream;
	char *name;            // for messages
	FILE *file;            // the temporary file; NULL if the stream is the caller's
	struct stream of_file; // which `stream` then points to
};

struct etl_inputs {
	ARRAY(struct etl_input *) items;
};

// Fills the list from the reader's input and from options->more, with archives unpacked. Logs failures.
int etl_inputs_open(struct etl_inputs *inputs, struct stream *input, const char *name,
		    const struct read_options *options);
void etl_inputs_close(struct etl_inputs *inputs);

// Adds a temporary file and takes it over, whatever happens. -EINVAL, not logged, if it is no ETL file.
int etl_inputs_add_file(struct etl_inputs *inputs, FILE *file, const char *name);

// Unpack one archive.
int etl_unpack_zip(struct etl_inputs *inputs, struct stream *input, const char *name);
int etl_unpack_gzip(struct etl_inputs *inputs, struct stream *input, const char *name);
bool etl_zip_probe(const uint8_t *head, size_t size);
bool etl_gzip_probe(const uint8_t *head, size_t size);
