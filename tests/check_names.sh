#!/bin/sh
# Every path that README.md, ARCHITECTURE.md and CONTRIBUTING.md put in backquotes is there. Speaks TAP.
set -u
cd "$srcdir" || exit 1
n=0
for document in README.md ARCHITECTURE.md CONTRIBUTING.md; do
    missing=
    # Names of files and folders, no patterns (<name>, *), no commands.
    for path in $(grep -o '`[^` ]*`' "$document" | tr -d '`' | grep -E '^(src|kernels|proto|tests|contrib|man)/[A-Za-z0-9_./-]*$' | sort -u); do
        [ -e "${path%/}" ] || missing="$missing $path"
    done
    n=$((n + 1))
    if [ -z "$missing" ]; then
        echo "ok $n - $document names what is there"
    else
        echo "not ok $n - $document names what is not there:$missing"
    fi
done
echo "1..$n"
