// Runs suspects of a comparison again, so that one busy moment does not fail a job.
#pragma once

#include "history/question.h"

// Runs each suspect `times` more, as part of the run `run`, with the command in the folder's manifest. 0, or
// -errno after a report. `program` is tracelet.
int confirm_suspects(const char *program, const char *folder, struct history_question *question,
		     const char *run, unsigned times);
