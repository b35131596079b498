#!/usr/bin/env python3
"""The members of a manifest's line against the page that documents them, in TAP."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
HEADER = ROOT / "src/format/manifest_record.h"
PAGE = ROOT / "docs/manifest.md"
SCHEMA = ROOT / "share/manifest.schema.json"


def members():
    """All names that can be in a line."""
    text = HEADER.read_text()
    tables = re.findall(r"#define MANIFEST_(?:ARTIFACT|DELETION|CRASH|CASE|RECORD)\(.*?\)\s(.*?)\n\n", text, re.S)
    for table in tables:
        yield from re.findall(r"MEMBER\(\w+, (\w+)\)", table)
        for inside in re.findall(r"INSIDE\(\w+, (\w+), (\w+)\)", table):
            yield from inside


def metrics():
    """The numbers in "metrics"."""
    return set(re.findall(r"METRIC\((\w+),", (ROOT / "src/format/metric_table.h").read_text())) - {"name"}


def documented():
    """The words marked as code."""
    return set(re.findall(r"`(\w+)`", PAGE.read_text()))


def first_cells():
    """Those that name a member in a table."""
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return {word for cell in rows for word in re.findall(r"`(\w+)`", cell)}


def in_schema(schema):
    """All names of members in the JSON Schema, without those that are free."""
    for key, member in schema.get("properties", {}).items():
        yield key
        if key != "functions":
            yield from in_schema(member)
    if "items" in schema:
        yield from in_schema(schema["items"])


def main():
    known = set(members())
    schema = set(in_schema(json.loads(SCHEMA.read_text())))
    checks = [("the tables of the format are found", [] if len(known) > 50 else [f"{len(known)} members"]),
              ("every member is documented", sorted(known - documented())),
              ("every documented member exists", sorted(first_cells() - known - metrics() - {"samples", "self"})),
              ("every member is in the schema", sorted(known - schema)),
              ("every member of the schema exists", sorted(schema - known)),
              ("every metric is documented", sorted(metrics() - documented()))]
    for number, (name, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong:
            print(f"# {line}")
    print(f"1..{len(checks)}")
    return any(wrong for _, wrong in checks)


if __name__ == "__main__":
    sys.exit(main())
