#!/bin/sh
# The CUDA kernels on the emulated driver: threads forward, in reverse, and in one order drawn from a seed with blocks
# interleaved. `make check-cuda` does more. Speaks TAP.
set -u
cd "$builddir" || exit 1
if [ ! -e tests/cuda-emu/libcuda_emu.so ]; then
    echo "ok 1 - the CUDA kernels on the emulated driver # SKIP there is no C++ compiler"
    echo 1..1
    exit 0
fi
LORCH_LIBCUDA=$PWD/tests/cuda-emu/libcuda_emu.so
LORCH_LIBCUBLAS=$LORCH_LIBCUDA # which computes the products, too
export LORCH_LIBCUDA LORCH_LIBCUBLAS
n=0
for order in "forward 1" "reverse 1" "1 3"; do
    set -- $order
    # Points are numbered through, and say in which order they ran.
    CUEMU_ORDER=$1 CUEMU_RESIDENT=$2 tests/gpu/test_cuda "$srcdir/tests/cuda-emu/check_kernels.sh" >check_kernels.out
    status=$?
    grep -v '^1\.\.' check_kernels.out | awk -v n="$n" -v how="$1" '
        sub(/^ok [0-9]+ - /, "") { printf "ok %d - %s: %s\n", ++n, how, $0; next }
        sub(/^not ok [0-9]+ - /, "") { printf "not ok %d - %s: %s\n", ++n, how, $0; next }
        { print }'
    n=$((n + $(grep -cE '^(not )?ok ' check_kernels.out)))
    if [ $status -ne 0 ] && ! grep -q '^not ok' check_kernels.out; then
        n=$((n + 1))
        echo "not ok $n - $1: the tests end with status $status"
    fi
done
rm -f check_kernels.out
echo "1..$n"
