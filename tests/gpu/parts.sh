# What tests/on-gpu and tests/cuda-emu/check_all.sh build without configure; sourced. The caller sets top, work, CC and CXX; work
# has an empty config.h.

host_sources="kernels/cuda/context.c kernels/cuda/cublas.c kernels/cuda/driver.c"
definitions="kernels/cpu/act.c kernels/cpu/attn.c kernels/cpu/flags.c kernels/cpu/matmul.c kernels/cpu/norm.c
    kernels/cpu/quant.c kernels/cpu/rope.c"
test_sources="tests/gpu/rig_cuda.c tests/gpu/test_attend.c tests/gpu/test_cuda.c tests/gpu/test_graphs.c
    tests/gpu/test_overlap.c tests/gpu/test_products.c tests/gpu/test_rows.c tests/gpu/test_sample.c
    tests/kernels/check.c tests/kernels/check_attn.c tests/kernels/check_cpu.c $definitions $host_sources"
bench_sources="tests/gpu/bench_gpu.c tests/gpu/bench_matvec.c tests/gpu/gauge.c $host_sources"
engine_parts="blas driver engine fiber sync" # of tests/cuda-emu

# build_program OUT FLAGS SOURCES: plain C. The definitions of the operations round once an operation.
build_program() {
    # shellcheck disable=SC2086 # lists
    (cd "$top" && "$CC" -std=gnu11 -O2 -g -Wall -Wextra -ffp-contract=off -D_GNU_SOURCE -I"$work" -I. $2 -o "$1" $3 -lm -ldl)
}

# build_engine: the emulator's own part, never with a sanitizer.
build_engine() {
    for part in $engine_parts; do
        (cd "$top" && "$CXX" -std=gnu++17 -O2 -g -Wall -Wextra -fPIC -I. -c -o "$work/emu_$part.o" "tests/cuda-emu/$part.cc") ||
            return
    done
}

# build_emulated OUT FLAGS [TOP]: the kernels as host code with the engine, in the place of libcuda.so.1.
build_emulated() {
    # shellcheck disable=SC2086 # a list
    (cd "${3:-$top}" && "$CXX" -std=gnu++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas $2 -fPIC -shared -I. -o "$1" \
        tests/cuda-emu/kernels.cc "$work"/emu_*.o)
}
