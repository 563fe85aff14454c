#!/bin/sh
# Every header compiles alone. Speaks TAP.
set -u
cd "$srcdir" || exit 1
# vec.h and *_vec.h are templates, written in the words that vec_avx2.h or vec_avx512.h defines before them.
headers=$(find src kernels proto -name '*.h' ! -name vec.h ! -name '*_vec.h' | sort)
echo "1..$(printf '%s\n' "$headers" | wc -l)"
for header in $headers; do
    flags=
    case $header in
    *_avx2.h) flags="-mavx2 -mfma -mf16c" ;;
    *_avx512.h) flags="-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl" ;;
    esac
    # shellcheck disable=SC2086 # a list of flags
    if message=$(printf '#include "%s"\n' "$header" |
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -DLORCH_DATADIR='"/"' -I. -I"$builddir" $flags -fsyntax-only -x c - 2>&1); then
        echo "ok - $header"
    else
        echo "not ok - $header"
        printf '%s\n' "$message" | sed 's/^/# /'
    fi
done
