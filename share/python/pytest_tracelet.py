"""A pytest plugin: every test becomes a case of the trace, and gets a trace of its own.

    tracelet run -- python3 -m pytest -p pytest_tracelet

Nothing happens unless tracelet records. All tests run in one process, or in the workers of xdist; compare `tracelet each`,
which starts a process for each test. The fixture `tracelet` marks phases: tracelet.mark("cold"), with
tracelet.slice("load"), tracelet.counter("queue", 3).
"""

import contextlib
import ctypes
import glob
import os
import shutil

import pytest

LIBRARY = "libtracelet-mark.so"
PASSED, FAILED, SKIPPED = 0, 1, 77  # as in tracelet/mark.h


def _places():
    """Where the library may be: named, next to the program, or where the program is installed."""
    named = os.environ.get("TRACELET_MARK_LIBRARY")
    if named:
        yield named
    here = os.path.dirname(os.path.abspath(__file__))
    yield from glob.glob(os.path.join(here, "../../../lib/**/tracelet", LIBRARY), recursive=True)
    for program in (os.environ.get("TRACELET"), shutil.which("tracelet")):
        if program:
            folder = os.path.dirname(os.path.realpath(program))
            yield os.path.join(folder, LIBRARY)
            for pattern in ("../lib/tracelet", "../lib/*/tracelet", "../lib64/tracelet"):
                yield from glob.glob(os.path.join(folder, pattern, LIBRARY))


def _load(config):
    """The library, or None if nothing is recorded."""
    if not os.environ.get("TRACELET_MARKS"):
        return None
    for place in _places():
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(place)
            library.tracelet_counter.argtypes = (ctypes.c_char_p, ctypes.c_double)
            return library
    config.issue_config_time_warning(
        pytest.PytestWarning(f"cannot find {LIBRARY}, so no case is recorded; set TRACELET_MARK_LIBRARY to its path"), 2)
    return None


def _bytes(text):
    return text.encode(errors="replace").replace(b"\0", b"")


class Marks:
    """Marks in the trace of the test; empty calls if nothing is recorded."""

    def __init__(self, library):
        self.library = library

    def mark(self, text):
        if self.library:
            self.library.tracelet_mark(_bytes(text))

    def counter(self, name, value):
        if self.library:
            self.library.tracelet_counter(_bytes(name), float(value))

    @contextlib.contextmanager
    def slice(self, name):
        if self.library:
            self.library.tracelet_slice_begin(_bytes(name))
        try:
            yield
        finally:
            if self.library:
                self.library.tracelet_slice_end()


class Cases:
    """Loaded where tests run: in pytest itself, or in each worker of xdist."""

    def __init__(self, library):
        self.library = library
        self.result = PASSED

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.result = PASSED
        self.library.tracelet_test_begin(_bytes(item.nodeid))
        yield
        self.library.tracelet_test_end(self.result)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        outcome = yield
        report = outcome.get_result()
        if report.failed:
            self.result = FAILED
            crash = getattr(report.longrepr, "reprcrash", None)
            self.library.tracelet_mark(_bytes(crash.message if crash else f"failed in {report.when}"))
        elif report.skipped and self.result == PASSED:
            self.result = SKIPPED


def pytest_configure(config):
    library = _load(config)
    config._tracelet_marks = Marks(library)
    if library:
        config.pluginmanager.register(Cases(library), "tracelet-cases")


@pytest.fixture(scope="session")
def tracelet(request):
    """Marks phases of a test in its trace."""
    return request.config._tracelet_marks
