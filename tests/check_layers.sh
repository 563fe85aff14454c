#!/bin/sh
# Include rules between folders (tests/layers), and a check that the checker finds what it should. Speaks TAP.
set -u
cd "$srcdir" || exit 1
srcdir=$PWD
echo 1..2
found=$(find src kernels proto tests \( -name '*.c' -o -name '*.h' \) -print | sort | xargs awk -f tests/check_layers.awk tests/layers)
if [ -z "$found" ]; then
    echo "ok 1 - every include obeys tests/layers"
else
    echo "not ok 1 - every include obeys tests/layers"
    printf '%s\n' "$found" | sed 's/^/# /'
fi

# A tree with one forbidden folder, one library outside its home and one path that is not from the root.
tree=$(mktemp -d)
mkdir -p "$tree/src/base" "$tree/src/engine" "$tree/tests"
printf '#include "src/engine/engine.h"\n#include <msgpack.h>\n#include "err.h"\n#include <stdio.h>\n' >"$tree/src/base/wrong.c"
n=$(cd "$tree" && awk -f "$srcdir/tests/check_layers.awk" "$srcdir/tests/layers" src/base/wrong.c | wc -l)
rm -rf "$tree"
[ "$n" -eq 3 ] && echo "ok 2 - the checker finds three kinds of violation" ||
    echo "not ok 2 - the checker found $n of 3 violations"
