// Tests to be traced, one for each word:
//
//   exit CODE           exits with this code, in any notation of C
//   words ...           prints each of its arguments on a line, in brackets
//   copy                copies standard input to standard output, and writes a line to standard error
//   crash               crashes with an access violation
//   hang FILE           starts another that starts another; each appends a line to FILE, then waits
//   leave FILE          the same, but exits itself
//   late FILE           starts one that writes FILE a little later, and exits
//   break               counts Ctrl-C: exits with 7 when it gets one
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

static void start(const wchar_t *program, const wchar_t *word, int generation, const wchar_t *file) {
	STARTUPINFOW startup = {.cb = sizeof(startup)};
	PROCESS_INFORMATION process;
	wchar_t line[4096];
	swprintf(line, 4096, L"\"%ls\" %ls \"%ls\" %d", program, word, file, generation);
	CreateProcessW(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process);
}

static void add_line(const wchar_t *path) {
	HANDLE file = CreateFileW(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
				  OPEN_ALWAYS, 0, NULL);
	char line[32];
	DWORD written;
	int size = snprintf(line, sizeof(line), "%lu\n", GetCurrentProcessId());
	WriteFile(file, line, (DWORD)size, &written, NULL);
	CloseHandle(file);
}

static int copy(void) {
	char piece[4096];
	int size;
	_setmode(0, _O_BINARY);
	_setmode(1, _O_BINARY);
	while ((size = _read(0, piece, sizeof(piece))) > 0)
		_write(1, piece, (unsigned)size);
	fputs("copied\n", stderr);
	return 0;
}

static int *volatile nowhere;

static BOOL WINAPI note_event(DWORD event) {
	ExitProcess(event == CTRL_C_EVENT ? 7 : 8);
}

static int words(int argc, wchar_t **argv) {
	_setmode(1, _O_BINARY);
	for (int i = 2; i < argc; i++) {
		char text[4096];
		WideCharToMultiByte(CP_UTF8, 0, argv[i], -1, text, sizeof(text), NULL, NULL);
		printf("[%s]\n", text);
	}
	return 0;
}

// The first of three generations has no number.
static int family(int argc, wchar_t **argv) {
	int generation = argc > 3 ? _wtoi(argv[3]) : 0;
	if (generation < 2)
		start(argv[0], L"hang", generation + 1, argv[2]);
	add_line(argv[2]);
	if (wcscmp(argv[1], L"hang") == 0)
		Sleep(INFINITE);
	return 0;
}

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv) {
	const wchar_t *word = argc > 1 ? argv[1] : L"";
	if (wcscmp(word, L"exit") == 0)
		ExitProcess((UINT)wcstoul(argv[2], NULL, 0));
	if (wcscmp(word, L"words") == 0)
		return words(argc, argv);
	if (wcscmp(word, L"copy") == 0)
		return copy();
	if (wcscmp(word, L"crash") == 0)
		*nowhere = 1;
	if (wcscmp(word, L"hang") == 0 || wcscmp(word, L"leave") == 0)
		return family(argc, argv);
	if (wcscmp(word, L"late") == 0 && argc == 3)
		start(argv[0], L"late", 1, argv[2]);
	else if (wcscmp(word, L"late") == 0) {
		Sleep(300);
		add_line(argv[2]);
	}
	if (wcscmp(word, L"break") == 0) {
		SetConsoleCtrlHandler(note_event, TRUE);
		_write(1, "ready\n", 6);
		Sleep(60000);
	}
	return 0;
}
