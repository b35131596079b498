// The rights with which files are made. On Windows these calls do nothing.
#pragma once

// Between these, files are created, opened and deleted by this thread, and by those that it
// starts, with the rights of the user that the test runs as (process/user.h): a link that the user has
// planted leads nowhere that the user could not go. All other rights stay.
void user_files_begin(void);
void user_files_end(void);
