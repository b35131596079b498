# What is wrong with a processed profile of Firefox Profiler: columns that are shorter or longer than their table
# says, and numbers of rows that are not there. Prints nothing if it is whole.

def columns_of($name): to_entries[] | select(.value | type == "array") | {name: ($name + "." + .key), values: .value};
def wrong_lengths($name): .length as $length | columns_of($name) | select((.values | length) != $length) | .name;
def out_of($count): map(select(. != null and (. < 0 or . >= $count))) | length > 0;

.shared as $s
| ($s.stringArray | length) as $strings
| ($s | to_entries[] | select(.value | type == "object") | .key as $name | .value | wrong_lengths($name)),
  (.threads[] | (.samples | wrong_lengths("samples")), (.markers | wrong_lengths("markers"))),
  (["frameTable", "funcTable", "stackTable", "resourceTable", "nativeSymbols", "sources"] - ($s | keys))[],
  if $s.frameTable.func | out_of($s.funcTable.length) then "func" else empty end,
  if $s.frameTable.category | out_of(4) then "category" else empty end,
  if [$s.funcTable, $s.resourceTable | .name[]] + $s.sources.filename | out_of($strings) then "string" else empty end,
  if $s.funcTable.resource | map(select(. != -1)) | out_of($s.resourceTable.length) then "resource" else empty end,
  if $s.funcTable.source | out_of($s.sources.length) then "source" else empty end,
  if $s.stackTable.frame | out_of($s.frameTable.length) then "frame" else empty end,
  if [$s.stackTable.prefix | to_entries[] | select(.value != null and .value >= .key)] != [] then "prefix" else empty end,
  (.threads[].samples | if .stack | out_of($s.stackTable.length) then "stack" else empty end,
    if .timeDeltas | map(select(. < 0)) != [] then "time" else empty end)
