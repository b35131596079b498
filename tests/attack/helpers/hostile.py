"""Recordings full of hostile names, and checks of what is made from them.

hostile.py make            writes hostile.dhat.json, hostile.pb, hostile.perf and hostile.folded here
hostile.py manifest        prints a manifest whose tests are called so, with hostile.pb as their trace
hostile.py history         prints one with many sessions of each, that became slower and fail at times
hostile.py check KIND FILE [KIND FILE]... KIND: text (people read it), json, jsonl, csv, xml, page, markdown, folded, pprof
"""
import csv
import html.parser
import io
import json
import re
import sys
import xml.etree.ElementTree

SCRIPT = "<script>window.pwned=1</script>"
NAMES = [
    b"\x1b]0;pwned\x07", b"\x1b[2J\x1b[31m", "\u009b31m".encode(), b"tab\there", b"bell\x07\x7f",
    b"::error::pwned", b"  ::error file=a::pwned", "\u3000::error::pwned".encode(),
    b"##vso[task.setvariable variable=x]pwned", b"a ##vso[task.complete]pwned", b"##[error]pwned",
    b"###teamcity[buildStop]", b"\n::error::pwned", b"a\n##vso[task.complete]pwned", b"a\r\n::error::pwned",
    b"a\r::error::pwned", "a\u2028::error::pwned".encode(), "a\u202egnp.exe".encode(),
    ("</script>" + SCRIPT).encode(), ("</title>" + SCRIPT).encode(), ("</text></svg>" + SCRIPT).encode(),
    ("]]>" + SCRIPT).encode(), ("-->" + SCRIPT).encode(), b"<!--" + SCRIPT.encode(),
    b'"><img src=x onerror="window.pwned=1">', b"' onload='window.pwned=1", b"\\\";window.pwned=1//",
    b"${window.pwned=1}", b"`${window.pwned=1}`", b"&#0;&#x1b;&lt;", b"&pwned;", b"%n%s%n", b'say "hi", ok',
    b"__proto__", b"constructor", b"toString", b"\xff\xfe\xc3", b"\xed\xa0\x80", "\ufffe\uffff".encode(),
    b"x" * 10000, b"a;b c 7", b"=cmd|'/c calc'!A0",
]


# ---- manifests ----

def manifest():
    for i, name in enumerate(NAMES):
        text = name.decode("utf-8", "replace")
        print(json.dumps({
            "version": 2, "session": f"s{i}", "test": f"t{i}", "name": text, "status": text, "result": "failed: " + text,
            "command": [text], "explanation": text, "host": text, "kernel": text, "cpu": text, "profile": text,
            "variant": {text: text}, "started": "2026-01-01T00:00:00.000Z", "wall_seconds": 1, "lost": {text: 5},
            "source": {"commit": text, "branch": text, "job": text},
            "crashes": [{"name": text, "thread": text, "tid": 1, "stack": [text, text + " a.c:5"]}],
            "artifacts": [{"kind": "perfetto", "path": "hostile.pb", "size": 1},
                          {"kind": "stacks", "path": "x/" + text, "size": 1},
                          {"kind": text, "path": "javascript:alert(1)", "size": 1}]}))


COMMITS = ["$(pwned)", ";pwned;#", "`pwned`", "a'b\"c", "-pwned", "<img src=x>", "\x1b[31m\n::error::"]


def history():
    """Two sessions for each of 24 commits: slower from the 15th on, one of both fails at every fifth."""
    names = [name.decode("utf-8", "replace") for name in NAMES] + ["../../../etc/passwd", "-x", "--", "trend"]
    for i, name in enumerate(names):
        other = names[(i * 7 + 3) % len(names)][:300]
        for j in range(48):
            commit, minute = j // 2, j * 40
            print(json.dumps({
                "version": 2, "session": f"01a0c462-{i:04x}-708d-8f89-{j:012x}", "run": f"{commit:02d}{other}", "test": f"t{i}",
                "name": name, "suite": other if i % 3 else "", "project": other if i % 2 else "", "kind": "test",
                "status": "failed" if commit % 5 == 4 and j % 2 else "passed", "result": other, "explanation": other,
                "started": f"2026-10-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00.000Z",
                "wall_seconds": (0.02 if commit < 15 else 0.04) + j % 4 / 5000, "machine_class": other, "cpu": other,
                "source": {"commit": COMMITS[i % len(COMMITS)][:11] + chr(97 + commit), "branch": other if i % 4 else "main",
                           "change": other, "ci": other, "job": other},
                "command": [name, other], "host": other, "metrics": {other: 5, "max_rss": 4096},
                "waited": {other: [3, 10**9 if j % 2 else 5, 5]},
                "functions": {"samples": 100, "self": {other: 5 if commit < 15 else 60, "main": 9}},
                "artifacts": [{"kind": other, "path": "../" * 9 + "etc/passwd", "size": 5, "sha256": "0" * 64}]}))


# ---- recordings ----

def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def packet(time, *parts):
    return data(1, number(8, time) + number(10, 1) + b"".join(parts))


def perfetto():
    """Every name as that of a process, a thread, a slice, a category, an annotation, a fact."""
    out = packet(1, number(13, 1))
    names = [name.replace(b"\0", b"") for name in NAMES]
    facts = b"".join(data(1, data(1, b"tracelet." + name[:40]) + data(3, name)) for name in names)
    out += packet(1, data(45, data(1, data(1, b"Linux") + data(2, names[12]) + data(3, names[5]))))
    out += packet(1, data(126, facts))
    for i, name in enumerate(names):
        pid, time = 100 + i, 1000 * (i + 1)
        switch = data(1, b"swapper") + number(2, 0) + data(5, name[:15]) + number(6, pid)
        back = data(1, name[:15]) + number(2, pid) + number(4, 1) + data(5, b"swapper") + number(6, 0)
        out += packet(time, data(2, data(1, number(1, pid) + data(3, name)) +
                                 data(2, number(1, pid) + data(2, name) + number(3, pid))))
        out += packet(time, data(60, number(1, i + 1) + data(2, name) +
                                 data(4, number(1, pid) + number(2, pid) + data(5, name))))
        out += packet(time, data(1, number(1, 0) + data(2, number(1, time) + number(2, 0) + data(4, switch)) +
                                 data(2, number(1, time + 500) + number(2, pid) + data(4, back))))
        event = data(22, name) + data(23, name) + data(4, data(10, name) + data(6, name))
        out += packet(time + 100, data(11, number(9, 1) + number(11, i + 1) + event))
        out += packet(time + 200, data(11, number(9, 2) + number(11, i + 1)))
    return out


def dhat():
    texts = [name.decode("utf-8", "surrogateescape") for name in NAMES]
    hostile = "bytes" + SCRIPT + "\n::error::pwned \x1b[31m"
    frames = ["[root]"] + ["0x%X: %s (%s.c:1)" % (i + 1, text, text[:30]) for i, text in enumerate(texts)]
    points = [{"tb": 10 + i, "tbk": 1, "tl": 1, "mb": 10, "mbk": 1, "gb": 10, "gbk": 1, "eb": 10, "ebk": 1,
               "fs": [i + 1, 1]} for i in range(len(texts))]
    profile = {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False,
               "bu": hostile, "bsu": hostile, "bksu": hostile, "tu": hostile, "Mtu": hostile, "tuth": 1,
               "cmd": hostile, "pid": 1, "tg": 1, "te": 2, "pps": points, "ftbl": frames}
    return json.dumps(profile, ensure_ascii=False).encode("utf-8", "surrogateescape")


def perf_script():
    """Lines cannot contain line breaks; everything else is tried."""
    out = b""
    for i, name in enumerate(NAMES):
        name = name.replace(b"\n", b"").replace(b"\r", b"")
        out += b"%s %d/%d [000] %d.000001: 250000 cycles:u: \n" % (name[:15], 100 + i, 100 + i, i + 1)
        out += b"\t    401000 %s+0x1 (/tmp/%s)\n\t    402000 main+0x2 (/tmp/a)\n\n" % (name, name[:40])
    return out


def folded():
    return b"".join(b"main;%s 5\n" % name.replace(b"\n", b"").replace(b"\r", b"") for name in NAMES)


def make():
    for path, content in (("hostile.dhat.json", dhat()), ("hostile.pb", perfetto()), ("hostile.perf", perf_script()),
                          ("hostile.folded", folded())):
        with open(path, "wb") as file:
            file.write(content)


# ---- checks ----

ORDER = re.compile(r"##[A-Za-z]*\[")


def check_text(content):
    text = content.decode("utf-8")
    for at, line in enumerate(text.split("\n"), 1):
        for character in line:
            code = ord(character)
            bad = code < 32 or 0x7f <= code < 0xa0 or 0x2028 <= code <= 0x202e or 0x2066 <= code <= 0x2069
            assert not bad, "line %d has U+%04X: %r" % (at, code, line[:200])
        assert not line.strip().startswith("::"), "line %d is an order to GitHub: %r" % (at, line[:200])
        assert not ORDER.search(line), "line %d is an order to a CI system: %r" % (at, line[:200])


def check_json(content):
    json.loads(content.decode("utf-8"))


def check_jsonl(content):
    lines = content.decode("utf-8").split("\n")
    assert len(lines) > 1 and not lines[-1]
    for line in lines[:-1]:
        json.loads(line)


def check_csv(content):
    rows = list(csv.reader(io.StringIO(content.decode("utf-8", "surrogateescape"), newline=""), strict=True))
    widths = {len(row) for row in rows}
    assert len(rows) > 1 and len(widths) == 1, "rows of %s columns" % widths


def check_xml(content):
    tree = xml.etree.ElementTree.fromstring(content)
    scripts = [element for element in tree.iter() if element.tag.endswith("script")]
    assert len(scripts) <= 1, "%d scripts" % len(scripts)
    for element in tree.iter():
        for name in element.attrib:
            assert not name.lower().startswith("on"), "%s has the attribute %s" % (element.tag, name)


class Page(html.parser.HTMLParser):
    """What a browser would find: elements that run code, and attributes that do."""
    scripts = 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        assert tag not in ("img", "iframe", "object", "embed", "base", "link"), "an element %s" % tag
        for name, value in attrs:
            assert not name.startswith("on"), "%s has the attribute %s" % (tag, name)
            assert not (value or "").lower().strip().startswith("javascript:"), "%s has a link %s" % (tag, value)


def check_page(content):
    page = Page()
    page.feed(content.decode("utf-8"))
    assert page.scripts <= 1, "%d scripts" % page.scripts
    # Our own script is the last thing; nothing in it may close it early.
    assert content.count(b"</script") <= 1, "the script is closed %d times" % content.count(b"</script")


def check_markdown(content):
    """Text, with no element, link or code of anyone, and rows that have as many cells as the head."""
    check_text(content)
    width = 0
    for line in content.decode("utf-8").split("\n"):
        assert not re.search(r"(?<!\\)(\\\\)*[<`\[]", line), "not escaped: %r" % line[:200]
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not cells or not width or cells == width, "%d cells in a table of %d: %r" % (cells, width, line[:200])
        width = cells


def check_folded(content):
    for line in content.split(b"\n")[:-1]:
        assert re.fullmatch(rb"[^\x00-\x1f\x7f]+ [0-9]+", line), "no stack and weight: %r" % line[:200]


def read_varint(content, at):
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def check_pprof(content):
    """The names are the strings of field 6."""
    at = strings = 0
    while at < len(content):
        tag, at = read_varint(content, at)
        value, at = read_varint(content, at)
        assert tag & 7 in (0, 2)
        if tag == 6 << 3 | 2:
            content[at:at + value].decode("utf-8")
            strings += 1
        at += value if tag & 7 == 2 else 0
    assert strings >= len(NAMES)


def check(kind, path):
    with open(path, "rb") as file:
        content = file.read()
    try:
        globals()["check_" + kind](content)
    except (AssertionError, UnicodeDecodeError, ValueError, csv.Error, xml.etree.ElementTree.ParseError) as problem:
        sys.exit("%s: %s" % (type(problem).__name__, str(problem)[:300]))


if sys.argv[1] == "make":
    make()
elif sys.argv[1] == "manifest":
    manifest()
elif sys.argv[1] == "history":
    history()
else:
    for at in range(2, len(sys.argv), 2):
        check(sys.argv[at], sys.argv[at + 1])
