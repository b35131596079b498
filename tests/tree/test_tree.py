#!/usr/bin/env python3
"""The source tree against its plan, in TAP: which directory may include which, and how large things may get.

The plan is the block "storeys" of docs/ARCHITECTURE.md: one line for each storey, the highest first, with its
directories from left to right. A directory may include the storeys below its own and, inside its storey, the
directories to its left. The tables below hold the rules that this block cannot express.
"""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
SOURCE = ROOT / "src"

# Pairs of directories that must not include each other, in either direction, although the plan would allow it.
STRANGERS = [("write", "read"), ("read/etl", "read/perf"), ("read/etl", "read/perfetto"), ("read/etl", "read/spool"),
             ("read/perf", "read/perfetto"), ("read/perf", "read/spool"), ("read/perfetto", "read/spool"),
             ("write/perfetto", "write/flame"), ("guest/agent", "guest/host")]

MOST_FILES, MOST_LINES = 60, 8000  # in a directory, without its subdirectories
LARGE_DIRECTORIES = {"read/etl", "capture/bpf"}  # may exceed them: many small layouts, many small programs
LONGEST_FILE, LONGEST_FUNCTION = 800, 60

# Two directories that are one, because one alone would be too large: they may include each other.
ONE = {frozenset(("symbol", "symbol/windows"))}  # names from files of Linux, and from those of Windows


class Plan:
    def __init__(self, text):
        block = re.search(r"```storeys\n(.*?)```", text, re.S)
        lines = [line.split()[1:] for line in block[1].splitlines()] if block else []
        self.rank = {name.rstrip("/"): (height, place)
                     for height, names in enumerate(reversed(lines)) for place, name in enumerate(names)}

    def allows(self, includer, included):
        """Both are paths below src/, such as read/etl/reader.c."""
        top, other = includer.parts[0], included.parts[0]
        if top not in self.rank or other not in self.rank or self.rank[other] > self.rank[top]:
            return False
        return not any(a.is_relative_to(x) and b.is_relative_to(y) for x, y in STRANGERS
                       for a, b in ((includer, included), (included, includer)))


class File:
    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT)
        self.text = path.read_text(errors="replace")
        self.lines = len(self.text.splitlines())

    def includes(self):
        """Our own headers: found next to the file or from src/, as the compiler finds them."""
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', self.text, re.M):
            found = [place / name for place in (self.path.parent, SOURCE) if (place / name).exists()]
            if found:
                yield found[0].resolve().relative_to(SOURCE.resolve())


# What may contain braces that open no block: comments, literals, and macros with all their lines.
NO_CODE = re.compile(r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | ^[ \t]*\#(?:\\\n|[^\n])*""",
                     re.S | re.M | re.X)
# The text before the brace of a function: a name, then parameters, then perhaps attributes; "=" before it makes it
# an initialiser, and a type may have attributes in front of its brace too.
SIGNATURE = re.compile(r"^(?!\s*(?:typedef\s+)?(?:struct|union|enum)\s+__attribute__)[^=]*\w\s*\([^=]*\)\s*$", re.S)


def functions(text):
    """(line of its opening brace, lines of its body) for each function; a body excludes its own two braces."""
    code = NO_CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    line, depth, body, head = 1, 0, None, ""
    for character in code:
        if character == "{":
            depth += 1
            if body is None and SIGNATURE.match(head):
                body = depth, line
            head = ""
        elif character == "}":
            if body and body[0] == depth:
                yield body[1], max(line - body[1] - 1, 0)
                body = None
            depth, head = depth - 1, ""
        elif character == ";":
            head = ""
        else:
            head += character
        line += character == "\n"


def function_counter_faults():
    """Whether functions() is reliable: on sources with known functions."""
    def lengths(text):
        return [length for _, length in functions(text)]

    body = "\tcall();\n"
    samples = [
        ("static int f(int a) {\n" + body * 61 + "}\n", [61]),
        ("static void g(int a,\n\t       int b) {\n" + body * 60 + "}\nint h(void) {\n}\n", [60, 0]),
        ("int f(void) {\n\tif (a) {\n" + body * 61 + "\t}\n}\n", [63]),
        ("static const int table[] = {\n" + "\t1,\n" * 99 + "};\n", []),
        ("struct s x = (struct s){\n" + "\t.a = 1,\n" * 99 + "};\n", []),
        ("struct __attribute__((packed)) s {\n" + "\tint a;\n" * 99 + "};\n", []),
        ("#define M(x) { \\\n\t} } \nvoid f(void) {\n\tputs(\"{\"); // {\n\tputc('{'); /* {\n{ */\n}\n", [3]),
        ('extern "C" {\nint f(void) {\n' + body * 61 + "}\n}\n", [61]),
    ]
    for text, wanted in samples:
        if lengths(text) != wanted:
            yield f"{lengths(text)} instead of {wanted} in: {text.splitlines()[0]}"


def plan_faults(plan, found):
    yield from (f"{name}/ is not in the plan" for name in sorted(found - set(plan.rank)))
    yield from (f"{name}/ is in the plan and not in src/" for name in sorted(set(plan.rank) - found))


def include_faults(plan, files):
    for file in files:
        for other in file.includes():
            if not plan.allows(file.name, other):
                yield f"{file.name} includes {other}"


def cycle_faults(files):
    """Subdirectories count by themselves here: read/etl uses read, which must not use read/etl."""
    graph, why = {}, {}
    for file in files:
        for other in file.includes():
            edge = str(file.name.parent), str(other.parent)
            if edge[0] != edge[1]:
                graph.setdefault(edge[0], set()).add(edge[1])
                why.setdefault(edge, f"{file.name} includes {other}")

    def leads(start, goal, seen):
        return any(at == goal or (at not in seen and not seen.add(at) and leads(at, goal, seen))
                   for at in sorted(graph.get(start, ())))

    for (user, used), reason in sorted(why.items()):
        if frozenset((user, used)) not in ONE and leads(used, user, set()):
            yield f"{used} needs {user}, and {reason}"


def reached(file, seen):
    """Everything that is included from here, directly or not."""
    for other in file.includes():
        if other not in seen:
            seen.add(other)
            reached(File(SOURCE / other), seen)
    return seen


def verb_faults(files):
    """All but doctor, which tries the capture itself and has a directory of its own."""
    for file in files:
        if file.name.parent == Path("cli") and file.path.suffix == ".c":
            headers = sorted(str(other) for other in reached(file, set()) if other.is_relative_to("capture/bpf"))
            if headers:
                yield f"{file.name} depends on {', '.join(headers)}"


def directory_faults(directories):
    for name, files in directories.items():
        lines = sum(file.lines for file in files)
        if str(name) not in LARGE_DIRECTORIES and (len(files) > MOST_FILES or lines > MOST_LINES):
            yield f"{name}: {len(files)} files, {lines} lines"


def function_faults(files):
    for file in files:
        for line, length in functions(file.text):
            if length > LONGEST_FUNCTION:
                yield f"{file.name}:{line}: {length} lines"


def main():
    plan = Plan((ROOT / "docs/ARCHITECTURE.md").read_text())
    files = [File(path) for path in sorted(SOURCE.rglob("*")) if path.suffix in (".c", ".h", ".def")]
    tests = [File(path) for path in sorted((ROOT / "tests").rglob("*")) if path.suffix in (".c", ".h", ".py", ".sh")]
    directories = {}
    for file in files:
        directories.setdefault(file.name.parent, []).append(file)
    checks = [
        ("the plan names every directory, and no other", plan_faults(plan, {file.name.parts[0] for file in files})),
        ("directories include only what the plan allows", include_faults(plan, files)),
        ("no directory needs itself through others", cycle_faults(files)),
        ("verbs do not depend on BPF", verb_faults(files)),
        (f"no directory has over {MOST_FILES} files or {MOST_LINES} lines", directory_faults(directories)),
        (f"no file has over {LONGEST_FILE} lines",
         (f"{file.name}: {file.lines} lines" for file in files + tests if file.lines > LONGEST_FILE)),
        ("this test counts the lines of functions right", function_counter_faults()),
        (f"no function has over {LONGEST_FUNCTION} lines", function_faults(files + [file for file in tests if file.path.suffix in (".c", ".h")])),
        ("every directory has a meson.build",
         (str(name) for name in directories if not (SOURCE / name / "meson.build").exists())),
    ]
    failed = 0
    print(f"1..{len(checks)}")
    for number, (name, faults) in enumerate(checks, 1):
        faults = list(faults)
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {name}")
        for fault in faults:
            print(f"# {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
