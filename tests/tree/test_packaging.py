#!/usr/bin/env python3
"""packaging/ against the build, in TAP: test_packaging.py BUILD_DIR.

Whatever meson installs is in exactly one Debian package, and each line of a package's list finds something; versions,
exported names and needed packages are those of the rest of the tree.
"""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging/debian"
results = []


def check(name, wrong):
    results.append(not wrong)
    print(f"{'not ' if wrong else ''}ok {len(results)} - {name}")
    for line in wrong:
        print(f"#   {line}")


def installed(build):
    """As in a package, so below usr/."""
    def ask(what):
        return json.loads(subprocess.run(["meson", "introspect", what, build], check=True, capture_output=True).stdout)
    prefix = next(option["value"] for option in ask("--buildoptions") if option["name"] == "prefix")
    return sorted("usr/" + str(Path(place).relative_to(prefix)) for place in ask("--installed").values())


def lists():
    return {path.stem: [line.split()[0] for line in path.read_text().splitlines()] for path in sorted(DEBIAN.glob("*.install"))}


def matches(place, pattern):
    return fnmatch(place, pattern) or place.startswith(pattern + "/")


def read(name):
    return (ROOT / name).read_text()


places, packages = installed(sys.argv[1]), lists()
# A sanitizer build has no agent.
check("each installed file is in one package", [
    f"{place}: {', '.join(found) or 'in none'}" for place in places
    if len(found := [name for name, patterns in packages.items() if any(matches(place, p) for p in patterns)]) != 1])
check("each line of a package finds a file", [
    f"{name}: {pattern}" for name, patterns in packages.items() for pattern in patterns
    if not any(matches(place, pattern) for place in places) and "agent" not in pattern])
control = read("packaging/debian/control")
check("each list belongs to a package", [name for name in packages if f"\nPackage: {name}\n" not in control])

version = re.search(r"version: '([\d.]+)'", read("meson.build"))[1]
check("one version", [where for where, found in {
    "packaging/debian/changelog": re.match(r"tracelet \(([\d.]+)", read("packaging/debian/changelog"))[1],
    "packaging/tracelet.spec": re.search(r"^Version: +(\S+)", read("packaging/tracelet.spec"), re.M)[1],
    "NEWS": re.search(r"^(\d[\d.]+)", read("NEWS"), re.M)[1]}.items() if found != version])

exported = set(re.findall(r"^\t(tl_\w+);", read("src/api/libtracelet.map"), re.M))
listed = set(re.findall(r"^ (tl_\w+)@", read("packaging/debian/libtracelet0.symbols"), re.M))
check("the symbols file has what the library exports", sorted(exported ^ listed))

# What debhelper or the compiler bring, and what only tests need.
IMPLIED = {"gcc", "libc6-dev", "ninja-build", "libcmocka-dev"}
build = {line.split()[1].split(":")[-1] for line in read("packages.txt").splitlines() if line.startswith("build ")}
wanted = set(re.findall(r"[a-z0-9][a-z0-9+.-]+(?=[ ,:\n])",
                        re.search(r"^Build-Depends:(.*?)^\S", control, re.S | re.M)[1])) - {"any", "1.0"}
check("Build-Depends has the packages of the build",
      sorted((build - IMPLIED) - wanted))
print(f"1..{len(results)}")
sys.exit(not all(results))
