#!/bin/bash
# All that the emulated driver can find in the CUDA kernels: five orders of threads, blocks alone and interleaved, without
# sanitizers, under AddressSanitizer and UBSan and under ThreadSanitizer; calls of the driver that fail; deliberate bugs, each of
# which must be stopped; and every synchronisation of the kernels taken out in turn, which must be noticed. Minutes. Speaks TAP.
#
#   check_all.sh                    everything
#   check_all.sh FILE:LINE...       takes out these synchronisations, no more
#
# CC and CXX name the compilers.
set -u
top=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top=$(cd "$top" && pwd)
CC=${CC:-cc} CXX=${CXX:-c++}
if ! echo 'int main() { return 0; }' | "$CXX" -x c++ -std=gnu++17 -o /dev/null - 2>/dev/null; then
    echo "ok 1 - the CUDA kernels under sanitizers, with bugs and without synchronisation # SKIP there is no C++ compiler"
    echo 1..1
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/config.h"
. "$top/tests/gpu/parts.sh"
asan="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=vptr"
tsan="-fsanitize=thread"
export ASAN_OPTIONS=detect_leaks=1 TSAN_OPTIONS=halt_on_error=1

n=0 n_bad=0
point() { # point NAME: fails if the file `why` has text
    n=$((n + 1))
    if [ -s "$work/why" ]; then
        n_bad=$((n_bad + 1))
        echo "not ok $n - $1"
        head -n 40 "$work/why" | sed 's/^/# /'
    else
        echo "ok $n - $1"
    fi
    : >"$work/why"
}

# run KIND ORDER RESIDENT: all kernel tests, silently; the output stays in `out`.
run() {
    LORCH_LIBCUDA=$work/libcuda_$1.so LORCH_LIBCUBLAS=$work/libcuda_$1.so CUEMU_ORDER=$2 CUEMU_RESIDENT=$3 timeout 300 "$work/test_$1" "$work/config.h" >"$work/out" 2>&1
}

build_kernels() { # build_kernels KIND FLAGS [TOP]
    build_emulated "$work/libcuda_$1.so" "$2" "${3:-$top}"
}

: >"$work/why"
{
    build_engine
    for kind in plain asan tsan; do
        flags=
        [ $kind = asan ] && flags=$asan
        [ $kind = tsan ] && flags=$tsan
        build_program "$work/test_$kind" "$flags" "$test_sources"
        build_kernels $kind "$flags"
    done
    build_program "$work/bench_asan" "$asan" "$bench_sources"
    echo "any file" >"$work/image"
    for kind in asan tsan; do
        flags=$asan
        [ $kind = tsan ] && flags=$tsan
        # shellcheck disable=SC2086 # a list
        (cd "$top" && "$CXX" -std=gnu++17 -O1 -g -Wno-unknown-pragmas $flags -I. -o "$work/bugs_$kind" tests/cuda-emu/bugs.cc "$work"/emu_{engine,fiber,sync}.o)
    done
} >"$work/why" 2>&1
point "everything builds without a warning"

clean_kernels() {
    local kind order resident
    for kind in plain asan tsan; do
        for order in forward reverse 1 2 3; do
            for resident in 1 3; do
                # Of interleaved blocks ThreadSanitizer has nothing to say: to it, blocks are unordered anyway.
                [ $kind = tsan ] && [ $resident = 3 ] && continue
                run $kind $order $resident || cp "$work/out" "$work/why"
            done
        done
        point "the kernels are right in five orders: $kind"
    done
}

# Every call of the driver fails at its first time: the test program or the measuring one ends with the error's name, and
# nothing leaks. Not those that only give something back, nor cuGetErrorName.
faults() {
    local call program status named
    for call in $(sed -n 's/^DRIVER(\([A-Za-z0-9_]*\),.*/\1/p' "$top/kernels/cuda/driver.def"); do
        case $call in *Free* | *Destroy* | *Unload | *Release* | cuGetErrorName) continue ;; esac
        named=0
        for program in "test_asan $work/config.h --quick" "bench_asan $work/image --small"; do
            # shellcheck disable=SC2086 # a list
            CUEMU_FAIL=$call:1 LORCH_LIBCUDA=$work/libcuda_asan.so LORCH_LIBCUBLAS=$work/libcuda_asan.so \
                timeout 300 "$work"/$program >"$work/out" 2>&1
            status=$?
            grep -q 'ERROR: .*Sanitizer' "$work/out" && cp "$work/out" "$work/why"
            [ $status -eq 1 ] && grep -q 'CUDA_ERROR_' "$work/out" && named=$((named + 1))
        done
        [ $named -gt 0 ] || echo "$call fails and nobody says so" >>"$work/why"
    done
    point "every call of the driver that fails is named, and nothing leaks"
    LORCH_LIBCUDA=$work/libcuda_asan.so CUEMU_MEM_MB=1 "$work/bench_asan" "$work/image" --small >"$work/out" 2>&1
    [ $? -eq 1 ] && grep -q 'bytes do not fit' "$work/out" || cp "$work/out" "$work/why"
    point "a GPU with too little memory is refused ($(grep -o '[0-9]* bytes do not fit, [0-9]* of [0-9]* are free' "$work/out"))"
}

seeded_bugs() {
    local i name kind
    for ((i = 0; ; i++)); do
        name=
        read -r name kind < <("$work/bugs_asan" $i 2>/dev/null | head -n 1)
        [ -n "$name" ] || break
        # In a shell of its own, which keeps its word about the abort to itself.
        if bash -c '"$@"; exit $?' - "$work/bugs_$kind" $i >"$work/out" 2>&1; then
            echo "it was not noticed" >"$work/why"
        fi
        point "stopped: $name ($(grep -m1 -oE 'cuda-emu: .*|AddressSanitizer: [a-z-]*|runtime error: .*|ThreadSanitizer: [a-z ]*' "$work/out" | cut -c1-90))"
    done
}

# Takes out what begins at a line; right is that some check notices.
mutate() { # mutate FILE LINE
    local order tree=$work/tree
    rm -rf "$tree"
    mkdir -p "$tree/tests"
    cp -r "$top/kernels" "$tree"
    cp -r "$top/tests/gpu" "$top/tests/cuda-emu" "$tree/tests"
    sed -i "$2s/^\( *\)[^;]*;/\1;/" "$tree/$1"
    build_kernels plain "" "$tree" >/dev/null 2>&1 || { echo "it does not compile"; return 0; }
    for order in forward reverse 1 2 3; do
        run plain $order 2 || { echo "$order"; return 0; }
    done
    build_kernels tsan "$tsan" "$tree" >/dev/null 2>&1
    for order in forward 1 2 3; do
        run tsan $order 1 || { echo "ThreadSanitizer, $order"; return 0; }
    done
    return 1
}
pattern='^ *(__syncthreads\(\)|__syncwarp\(\)|__threadfence\(\)|cu_cp_async_wait<1>\(\)|cu_cp_async_commit\(\)|cu_pdl_(start|wait)\(\)|cu_grid_barrier\(counter, .*\));'
if [ $# -eq 0 ]; then
    clean_kernels
    faults
    seeded_bugs
    set -- $(cd "$top" && grep -nE "$pattern" kernels/cuda/*.cu kernels/cuda/*.cuh | cut -d: -f1,2)
fi
for where; do
    file=${where%%:*} line=${where##*:}
    what=$(sed -n "${line}s/^ *\([^;]*;\).*/\1/p" "$top/$file")
    notice=$(mutate "$file" "$line") || echo "nothing notices that it is missing: it is superfluous, or the tests have a hole" >"$work/why"
    point "$where needs its $what ($notice)"
done
echo "1..$n"
[ $n_bad -eq 0 ]
