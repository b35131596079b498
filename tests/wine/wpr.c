// A stand-in for wpr.exe: takes the commands that the real one takes, logs them and
// keeps what is "recording" as files. The environment says what goes wrong.
//
//   WPR_FOLDER          log (one line for each call), INSTANCE.recording, profile.wprp (the last one)
//   WPR_START_CODE      and WPR_STOP_CODE, WPR_CANCEL_CODE: exit with this, in hexadecimal
//   WPR_HANG            start, stop or cancel: never ends, and has a child that does not either
//   WPR_MOST            so many recordings at the same time, then 800705aa
//   WPR_ETL             -stop makes a copy of this file
//   WPR_NO_FILE         -stop makes none, and says that all is well
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

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

static void write_log(int argc, wchar_t **argv) {
	char line[8192], word[4096];
	int size = 0;
	for (int i = 1; i < argc; i++) {
		WideCharToMultiByte(CP_UTF8, 0, argv[i], -1, word, sizeof(word), NULL, NULL);
		size += snprintf(line + size, sizeof(line) - (size_t)size, "%s[%s]", i > 1 ? " " : "", word);
	}
	line[size++] = '\n';
	HANDLE file = CreateFileW(in_folder(L"log", L""), FILE_APPEND_DATA,
				  FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, 0, NULL);
	DWORD written;
	WriteFile(file, line, (DWORD)size, &written, NULL);
	CloseHandle(file);
}

// What an instance is called is the last word of every command.
static const wchar_t *instance(int argc, wchar_t **argv) {
	return argc > 3 && wcscmp(argv[argc - 2], L"-instancename") == 0 ? argv[argc - 1] : NULL;
}

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

static void hang(const wchar_t *program) {
	STARTUPINFOW startup = {.cb = sizeof(startup)};
	PROCESS_INFORMATION process;
	wchar_t line[1100];
	swprintf(line, 1100, L"\"%ls\" -sleep", program);
	CreateProcessW(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process);
	Sleep(INFINITE);
}

static unsigned planned_code(const wchar_t *verb) {
	wchar_t name[64];
	swprintf(name, 64, L"WPR_%ls_CODE", verb);
	const wchar_t *code = variable(name);
	return code ? (unsigned)wcstoul(code, NULL, 16) : 0;
}

static unsigned start(const wchar_t *profile, const wchar_t *name) {
	wchar_t file[1024];
	wcsncpy(file, profile, 1023);
	file[1023] = 0;
	wchar_t *mark = wcsrchr(file, '!');
	if (mark)
		*mark = 0;
	CopyFileW(file, in_folder(L"profile", L".wprp"), FALSE);
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
	FILE *file = _wfopen(path, L"wb");
	if (!file)
		return 0x80070005;
	fprintf(file, "the trace of %ls\n", name);
	return fclose(file) ? 0x80070005 : 0;
}

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv) {
	if (argc == 2 && wcscmp(argv[1], L"-sleep") == 0)
		Sleep(INFINITE);
	write_log(argc, argv);
	const wchar_t *name = instance(argc, argv), *verb = name ? argv[1] + 1 : L"";
	if (variable(L"WPR_HANG") && wcscmp(variable(L"WPR_HANG"), verb) == 0)
		hang(argv[0]);
	unsigned code = wcscmp(verb, L"start") == 0    ? planned_code(L"START")
			: wcscmp(verb, L"stop") == 0   ? planned_code(L"STOP")
			: wcscmp(verb, L"cancel") == 0 ? planned_code(L"CANCEL")
						       : 0x80070057;
	if (code == 0xc5580701)
		printf("\n\tInvalid profile.\r\n\tElement SystemProvider, line 7, column 12\r\n");
	if (!code)
		code = wcscmp(verb, L"start") == 0 ? start(argv[2], name)
						   : end(wcscmp(verb, L"stop") == 0 ? argv[2] : NULL, name);
	fflush(stdout);
	ExitProcess(code);
}
