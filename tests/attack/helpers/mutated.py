"""mutated.py RUNS SEED FOLDER...: changes files of every format at random and has tracelet read them with little memory.

A subfolder of FOLDER is a kind of file (COMMANDS below; others are recordings). One run is one changed file and one
command. A run fails if tracelet is ended by a signal, has an exit status that is not its own, says more than 20 lines
on standard error, runs out of 2 GB of memory, or takes more than 20 seconds of CPU time. A file that made it fail stays
here as failed-N.
"""
import os
import pathlib
import random
import resource
import subprocess
import sys

TRACELET = os.environ["TRACELET"]
MEMORY = 2 << 30
CPU_SECONDS = 20
LARGEST = 256 * 1024  # of a seed: more only takes longer

# FILE is the changed file.
RECORDING = [
    "info FILE", "info --json FILE", "dump FILE", "dump --json FILE", "flame -o /dev/null FILE", "top FILE", "fold FILE",
    "table FILE threads", "check FILE", "convert --to perfetto FILE /dev/null", "convert --to speedscope FILE /dev/null",
    "convert --to pprof FILE /dev/null", "convert --to gecko FILE /dev/null", "diff FILE FILE",
    "convert --merge FILE FILE -o merged.pb", "why FILE", "why --json FILE", "flame --path -o /dev/null FILE", "report -o - FILE",
    "table FILE kernel-events", "table --json FILE context-switches",
]
COMMANDS = {
    "junit": ["junit --manifest manifest.jsonl FILE"],
    "manifest": ["junit --manifest FILE results.xml", "check --landed --manifest FILE"],
    "wprp": ["profile show FILE"],
    "ini": ["settings"],
}
INTERESTING = [0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 50000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
               1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def change_once(chance, data, other):
    if not data:
        return bytearray(chance.randbytes(16))
    at = chance.randrange(len(data))
    length = min(chance.choice([1, 2, 4, 8, 16, 64, 512, 4096]), len(data) - at)
    way = chance.randrange(9)
    if way == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif way == 1:
        data[at] = chance.choice(b"\x00\x01\x7f\x80\xff \n\";<>{}[]0")
    elif way in (2, 3):
        size = chance.choice([2, 4, 8])
        data[at:at + size] = (chance.choice(INTERESTING) % (1 << 8 * size)).to_bytes(size, "little")
    elif way == 4:
        del data[at:at + length]
    elif way == 5:
        data[at:at] = data[at:at + length] * chance.choice([1, 2, 64])
    elif way == 6:
        data[at:at + length] = chance.randbytes(length)
    elif way == 7 and other:
        start = chance.randrange(len(other))
        data[at:at + length] = other[start:start + length]
    else:
        digits = [i for i in range(at, min(at + 4096, len(data))) if chr(data[i]).isdigit()]
        if digits:
            data[digits[0]:digits[0] + 1] = str(chance.choice(INTERESTING)).encode()
        else:
            del data[at:]
    return data


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not os.environ.get("UNLIMITED"):  # a sanitizer reserves more than there is
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def problem_of(result):
    message = result.stderr.decode(errors="replace")
    if result.returncode < 0:
        return f"signal {-result.returncode}"
    if result.returncode not in (0, 1, 2):
        return f"exit status {result.returncode}"
    if "out of memory" in message or "Cannot allocate memory" in message:
        return "no memory"
    if message.count("\n") > 20:
        return "too many messages"
    return None


def seeds_of(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and 0 < path.stat().st_size <= LARGEST:
                yield path.parent.name, path


def main():
    runs, seed, folders = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    seeds = [(kind, path.name, path.read_bytes()) for kind, path in seeds_of(folders)]
    by_kind = {}
    for entry in seeds:
        by_kind.setdefault(entry[0], []).append(entry)
    kinds = sorted(by_kind)
    print(f"# {len(seeds)} seeds of {len(kinds)} kinds: {' '.join(kinds)}")
    failed = 0
    for i in range(runs):
        chance = random.Random(f"{seed}/{i}")
        kind, name, content = chance.choice(by_kind[kinds[i % len(kinds)]])
        data = bytearray(content)
        for _ in range(chance.choice([0, 1, 1, 2, 4, 8, 32])):
            data = change_once(chance, data, chance.choice(seeds)[2])
        changed = "tracelet.ini" if kind == "ini" else "changed"
        pathlib.Path(changed).write_bytes(data)
        command = chance.choice(COMMANDS.get(kind, RECORDING))
        words = [changed if word == "FILE" else word for word in command.split()]
        result = subprocess.run([TRACELET, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, preexec_fn=limit, check=False)
        problem = problem_of(result)
        if problem:
            failed += 1
            os.rename(changed, f"failed-{i}")
            print(f"# run {i}: {problem}: tracelet {command} of {kind}/{name}: failed-{i}")
            print("#", result.stderr.decode(errors="replace")[:300].replace("\n", " "))
        elif os.path.exists("tracelet.ini"):
            os.remove("tracelet.ini")
    print(f"# {runs} runs, {failed} failed")
    return min(failed, 1)


sys.exit(main())
