#!/bin/sh
# What nvcc made of the CUDA kernels (registers, spills, loads), and driver.def against the toolkit's
# headers. Speaks TAP; skips where configure found no nvcc.
set -u
variable() { sed -n "s/^$1 = //p" "$builddir/Makefile"; }
nvcc=$(variable NVCC) toolkit=$(variable CUDA_HOME) archs=$(variable CUDA_ARCHS)
here=$srcdir/tests/kernels
if [ -z "$toolkit" ]; then
    echo "ok 1 - what nvcc made of the kernels # SKIP there is no nvcc"
    echo 1..1
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
point() { # point NAME MESSAGE: fails if there is a message, but for lines that are comments
    n=$((n + 1))
    if printf '%s\n' "$2" | grep -v '^#' | grep -q .; then
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    else
        echo "ok $n - $1"
        printf '%s\n' "$2" | grep '^#'
    fi
}

compare() { awk -f "$here/check_nvcc.awk" "$@" 2>&1 || echo "the comparison ended with status $?"; }

# The comparison itself, on two kernels that are not as the table wants them.
cat >"$work/table" <<'END'
wide 32 2 0
narrow 16 1 1
gone 16 0 0
END
cat >"$work/ptxas" <<'END'
ptxas info    : Compiling entry function 'wide' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 128 bytes smem
ptxas info    : Compiling entry function 'narrow' for 'sm_90'
    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 17 registers
ptxas info    : Compiling entry function 'new' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
END
cat >"$work/ptx" <<'END'
.visible .entry wide(
	ld.global.nc.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	@%p1 ld.global.v2.u64 	{%rd1, %rd2}, [%rd3];
.visible .entry narrow(
	ld.global.nc.u16 	%rs1, [%rd1];
	cp.async.ca.shared.global [%r1], [%rd1], 4;
END
compare "$work/table" "$work/ptxas" "$work/ptx" >"$work/got"
cat >"$work/want" <<'END'
narrow: spills for sm_90:     8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
narrow: uses 17 registers for sm_90, at most 16 are allowed
new: is not in the table of kernels
wide: has 1 loads of constant data, at most 0 are allowed
# wide: 32 registers, loads of 1 2 4 8 16 bytes: 0 0 0 0 2
narrow: has 0 loads of 16 bytes, at least 1 are wanted
# narrow: 17 registers, loads of 1 2 4 8 16 bytes: 0 1 1 0 0
gone: is in the table, but nvcc has compiled no such kernel
# gone: 0 registers, loads of 1 2 4 8 16 bytes: 0 0 0 0 0
END
point "the comparison finds spills, registers, narrow loads, constant loads, and kernels that are not listed" \
    "$(diff "$work/want" "$work/got")"

ptx() {
    "$nvcc" -std=c++17 -I"$srcdir" $(variable NVCCFLAGS) -ptx -arch="compute_${archs%% *}" \
        -o "$work/kernels.ptx" "$srcdir/kernels/cuda/kernels.cu" 2>&1
}
if message=$(ptx); then
    point "no kernel spills, and each loads as widely as it should" \
        "$(compare "$here/nvcc_kernels" "$builddir/kernels/cuda/kernels.ptxas" "$work/kernels.ptx")"
else
    point "the kernels compile to PTX" "$message"
fi

if [ ! -e "$toolkit/include/cuda.h" ] || [ ! -e "$toolkit/include/cublas_v2.h" ]; then
    n=$((n + 1))
    echo "ok $n - driver.def and cublas.def agree with the toolkit's headers # SKIP the toolkit has none"
else
    header() { # header ROOT: compiles with the tables below it
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I"$toolkit/include" -I"$1" -fsyntax-only "$here/driver_header.c" 2>&1
    }
    point "driver.def and cublas.def agree with the toolkit's headers" "$(header "$srcdir")"
    mkdir -p "$work/kernels/cuda"
    cp "$srcdir/kernels/cuda/cublas.def" "$work/kernels/cuda"
    for edit in 's/(int \*version)/(size_t *version)/' 's/COUNT, 16)/COUNT, 17)/' 's/hStream, 32/hStream, 28/'; do
        sed "$edit" "$srcdir/kernels/cuda/driver.def" >"$work/kernels/cuda/driver.def"
        point "a row changed by $edit does not" "$(header "$work" >/dev/null && echo it does)"
    done
fi
echo "1..$n"
