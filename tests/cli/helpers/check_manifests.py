#!/usr/bin/env python3
"""check_manifests.py SCHEMA FILE...: each line of the manifests against the JSON Schema; prints what is wrong.

Only the keywords that the schema uses. (python3-jsonschema takes longer to load than all lines of a test to check.)
"""

import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool,
         "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "properties", "additionalProperties", "maxProperties", "required",
         "items", "minItems", "maxItems", "minimum", "pattern", "enum", "const", "anyOf"}


def is_a(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def wrong(value, schema, path):
    """What is wrong with a value, as texts."""
    if set(schema) - KNOWN:
        yield f"{path}: the schema has keywords that are not checked: {set(schema) - KNOWN}"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_a(value, name) for name in names):
        yield f"{path}: {json.dumps(value)[:80]} is no {' or '.join(names)}"
        return
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        yield f"{path}: {json.dumps(value)[:80]} is not allowed"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{path}: {value[:80]} does not match {schema['pattern']}"
    if is_a(value, "number") and value < schema.get("minimum", value):
        yield f"{path}: {value} is too small"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for number, item in enumerate(value):
            yield from wrong(item, schema.get("items", {}), f"{path}[{number}]")
    if isinstance(value, dict):
        yield from wrong_members(value, schema, path)


def wrong_members(value, schema, path):
    if len(value) > schema.get("maxProperties", len(value)):
        yield f"{path}: {len(value)} members"
    ways = [way["required"] for way in schema.get("anyOf", [])] or [schema.get("required", [])]
    if not any(set(way) <= set(value) for way in ways):
        yield f"{path}: a member is missing: {ways}"
    for key, item in value.items():
        member = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
        if member is False:
            yield f"{path}.{key}: no such member"
        else:
            yield from wrong(item, member, f"{path}.{key}")


def written(name):
    """The lines that the program wrote: tests make up others, and tear some."""
    with open(name, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict) and ("tracelet" in line and line.get("version") == 2 or "deleted" in line and "when" in line):
                yield number, line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    failed = False
    for name in sys.argv[2:]:
        for number, line in written(name):
            for text in wrong(line, schema, ""):
                print(f"{name}:{number}: {text}")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
