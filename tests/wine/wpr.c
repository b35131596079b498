// A stand-in for wpr.exe: accepts the commands of the real one and no others, logs them and keeps
// what is "recording" as files. The environment selects the failures. Also built as wpr_old.exe,
// with the version of one that does not know -skipPdbGen.
//
//   WPR_FOLDER          log (one line for each call), INSTANCE.recording, profile.wprp (the last one)
//   WPR_START_CODE      and WPR_STOP_CODE, WPR_CANCEL_CODE, WPR_STATUS_CODE: exit with this, in hexadecimal
//   WPR_HANG            start, stop or cancel: never ends, nor does its child
//   WPR_MOST            largest number of simultaneous recordings, then 800705aa
//   WPR_REFUSES         a word: profiles that contain it are invalid
//   WPR_ETL             -stop makes a copy of this file
//   WPR_NO_FILE         -stop makes none, and reports success
//   WPR_UTF16           write UTF-16
//   WPR_SLOW            milliseconds before a recording is saved
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { BAD_ARGUMENT = (int)0x80070057, SEVERAL_OF_A_FILE = (int)0x800700b7 };

static const wchar_t *variable(const wchar_t *name) {
	const wchar_t *value = _wgetenv(name);
	return value && *value ? value : NULL;
}

static wchar_t *in_folder(const wchar_t *name, const wchar_t *extension) {
	static wchar_t paths[4][1024];
	static int next;
	wchar_t *path = paths[next++ % 4];
	swprintf(path, 1024, L"%ls\\%ls%ls", variable(L"WPR_FOLDER"), name, extension);
	return path;
}

static void append(const wchar_t *path, const char *text, int size) {
	HANDLE file = CreateFileW(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
				  OPEN_ALWAYS, 0, NULL);
	DWORD written;
	WriteFile(file, text, (DWORD)size, &written, NULL);
	CloseHandle(file);
}

static void write_log(int argc, wchar_t **argv) {
	char line[8192], word[4096];
	int size = 0;
	for (int i = 1; i < argc; i++) {
		WideCharToMultiByte(CP_UTF8, 0, argv[i], -1, word, sizeof(word), NULL, NULL);
		size += snprintf(line + size, sizeof(line) - (size_t)size, "%s[%s]", i > 1 ? " " : "", word);
	}
	line[size++] = '\n';
	append(in_folder(L"log", L""), line, size);
}

// ---- output ----

static void say(const wchar_t *text) {
	char bytes[1024];
	DWORD written;
	int size = WideCharToMultiByte(CP_OEMCP, 0, text, -1, bytes, sizeof(bytes), NULL, NULL) - 1;
	if (variable(L"WPR_UTF16"))
		WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)(2 * wcslen(text)), &written, NULL);
	else
		WriteFile(GetStdHandle(STD_ERROR_HANDLE), bytes, (DWORD)size, &written, NULL);
}

static void say_failure(unsigned code) {
	wchar_t text[512];
	const wchar_t *words = code == 0xc5580701
				       ? L"Invalid profile.\r\n\tElement SystemProvider, line 7, column 12"
				       : L"Something went wrong, with \u00fc.";
	swprintf(text, 512,
		 L"Microsoft Windows Performance Recorder Version 10.0.0\r\n"
		 L"Copyright (c) Microsoft Corporation. All rights reserved.\r\n\r\n"
		 L"\t%ls\r\n\r\n\tProfile Id: RunningProfile\r\n\r\n\tError code: 0x%08x\r\n\r\n\t%ls\r\n",
		 words, code, words);
	say(text);
}

// ---- its commands ----

static int recordings(void) {
	WIN32_FIND_DATAW found;
	HANDLE search = FindFirstFileW(in_folder(L"*", L".recording"), &found);
	int count = 0;
	if (search == INVALID_HANDLE_VALUE)
		return 0;
	do
		count++;
	while (FindNextFileW(search, &found));
	FindClose(search);
	return count;
}

static bool is_recording(const wchar_t *name) {
	return GetFileAttributesW(in_folder(name, L".recording")) != INVALID_FILE_ATTRIBUTES;
}

static void hang(const wchar_t *program) {
	STARTUPINFOW startup = {.cb = sizeof(startup)};
	PROCESS_INFORMATION process;
	wchar_t line[1100];
	swprintf(line, 1100, L"\"%ls\" -sleep", program);
	CreateProcessW(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process);
	Sleep(INFINITE);
}

// The FILE in FILE!NAME.
static void file_of(const wchar_t *profile, wchar_t file[1024]) {
	wcsncpy(file, profile, 1023);
	file[1023] = 0;
	wchar_t *mark = wcsrchr(file, '!');
	if (mark)
		*mark = 0;
}

static bool contains(const wchar_t *path, const wchar_t *word) {
	static char text[1 << 16];
	char narrow[64];
	FILE *file = _wfopen(path, L"rb");
	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	snprintf(narrow, sizeof(narrow), "\"%ls\"", word);
	return strstr(text, narrow);
}

// -start PROFILE [-start PROFILE]... [-filemode]
static unsigned start(int count, wchar_t **words, const wchar_t *name) {
	wchar_t files[8][1024];
	int profiles = 0;
	for (; 2 * profiles + 1 < count && profiles < 8 && wcscmp(words[2 * profiles], L"-start") == 0;
	     profiles++) {
		file_of(words[2 * profiles + 1], files[profiles]);
		for (int i = 0; i < profiles; i++)
			if (_wcsicmp(files[i], files[profiles]) == 0)
				return SEVERAL_OF_A_FILE;
		if (!CopyFileW(files[profiles], in_folder(L"profile", L".wprp"), FALSE))
			return 0x80070002;
		if (variable(L"WPR_REFUSES") && contains(files[profiles], variable(L"WPR_REFUSES")))
			return 0xc5580701;
	}
	int rest = count - 2 * profiles;
	if (rest > 1 || (rest && wcscmp(words[count - 1], L"-filemode") != 0))
		return BAD_ARGUMENT;
	if (variable(L"WPR_MOST") && recordings() >= _wtoi(variable(L"WPR_MOST")))
		return 0x800705aa;
	HANDLE made = CreateFileW(in_folder(name, L".recording"), GENERIC_WRITE, 0, NULL, CREATE_NEW, 0,
				  NULL);
	if (made == INVALID_HANDLE_VALUE)
		return 0xc5583001;
	CloseHandle(made);
	return 0;
}

static unsigned end(const wchar_t *path, const wchar_t *name) {
	if (!DeleteFileW(in_folder(name, L".recording")))
		return 0xc5583000;
	if (!path || variable(L"WPR_NO_FILE"))
		return 0;
	if (variable(L"WPR_ETL"))
		return CopyFileW(variable(L"WPR_ETL"), path, FALSE) ? 0 : 0x80070005;
	FILE *file = wcslen(path) < MAX_PATH ? _wfopen(path, L"wb") : NULL;
	if (!file)
		return 0x80070005;
	fprintf(file, "the trace of %ls\n", name);
	return fclose(file) ? 0x80070005 : 0;
}

// -stop FILE [-skipPdbGen]
static unsigned stop(int count, wchar_t **words, const wchar_t *name) {
	if (variable(L"WPR_SLOW"))
		Sleep((DWORD)_wtoi(variable(L"WPR_SLOW")));
	bool skip = count == 3 && wcscmp(words[2], L"-skipPdbGen") == 0;
#ifdef OLD
	if (skip)
		return BAD_ARGUMENT;
#endif
	return count == 2 || skip ? end(words[1], name) : (unsigned)BAD_ARGUMENT;
}

static unsigned cancel(int count, wchar_t **words, const wchar_t *name) {
	return count == 1 ? end(NULL, name) : (unsigned)BAD_ARGUMENT;
}

static unsigned status(int count, wchar_t **words, const wchar_t *name) {
	say(is_recording(name) ? L"\r\n\tWPR recording is in progress...\r\n"
			       : L"\r\n\tWPR is not recording\r\n");
	return count == 1 ? 0 : BAD_ARGUMENT;
}

static unsigned marker(int count, wchar_t **words, const wchar_t *name) {
	return count != 2 ? (unsigned)BAD_ARGUMENT : is_recording(name) ? 0 : 0xc5583000;
}

static const struct {
	const wchar_t *name;
	unsigned (*run)(int count, wchar_t **words, const wchar_t *name);
} verbs[] = {
	{L"start", start}, {L"stop", stop}, {L"cancel", cancel}, {L"status", status}, {L"marker", marker}};

// The result that the environment plans, or else the command's own. The instance is the last word
// of every command.
static unsigned run(int argc, wchar_t **argv) {
	wchar_t planned[64];
	bool named = argc > 3 && wcscmp(argv[argc - 2], L"-instancename") == 0;
	for (size_t i = 0; named && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (wcscmp(argv[1] + 1, verbs[i].name) != 0)
			continue;
		if (variable(L"WPR_HANG") && wcscmp(variable(L"WPR_HANG"), verbs[i].name) == 0)
			hang(argv[0]);
		swprintf(planned, 64, L"WPR_%ls_CODE", verbs[i].name);
		const wchar_t *code = variable(planned);
		return code ? (unsigned)wcstoul(code, NULL, 16)
			    : verbs[i].run(argc - 3, argv + 1, argv[argc - 1]);
	}
	return BAD_ARGUMENT;
}

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv) {
	if (argc == 2 && wcscmp(argv[1], L"-sleep") == 0)
		Sleep(INFINITE);
	write_log(argc, argv);
	unsigned code = run(argc, argv);
	if (code)
		say_failure(code);
	ExitProcess(code);
}
