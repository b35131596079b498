// `tracelet stat list`, `detect` and `man NAME`: what can be counted here.
#pragma once

int stat_list(const char *text);
int stat_detect(void);
int stat_man(const char *name);
