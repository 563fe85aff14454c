# Compares what ptxas said and the PTX of all kernels with tests/kernels/nvcc_kernels; prints what differs.
#
#   awk -f check_nvcc.awk TABLE PTXAS PTX     (TABLE: nvcc_kernels, PTXAS: the output of -Xptxas -v, PTX: a text)
#
# A line "# KERNEL: N registers, loads of 1 2 4 8 16 bytes: ..." for each kernel is for
# information.

function wrong(text) {
    print kernel ": " text
}

# Bytes of a load by its suffixes: 16 for "ld.global.nc.v4.f32".
function width(text,    part, n, bits) {
    n = split(text, part, ".")
    bits = part[n]
    gsub(/[^0-9]/, "", bits)
    return (match(text, /\.v[248]\./) ? substr(text, RSTART + 2, 1) : 1) * bits / 8
}

FNR == 1 { i_file++ }

i_file == 1 && !/^#/ && NF {
    registers[$1] = $2
    wide[$1] = $3
    constant[$1] = $4
    order[++n_kernel] = $1
}

i_file == 2 && /Compiling entry function/ {
    split($0, quoted, "'")
    kernel = quoted[2]
    target = quoted[4]
    compiled[kernel]++
    if (!(kernel in registers))
        wrong("is not in the table of kernels")
}
i_file == 2 && /bytes stack frame/ && (($1 + 0) || ($5 + 0) || ($9 + 0)) {
    wrong("spills for " target ": " $0)
}
i_file == 2 && /Used [0-9]+ registers/ {
    match($0, /Used [0-9]+/)
    used = substr($0, RSTART + 5, RLENGTH - 5) + 0
    most[kernel] = used > most[kernel] ? used : most[kernel]
    if (used > registers[kernel])
        wrong("uses " used " registers for " target ", at most " registers[kernel] " are allowed")
}

i_file == 3 && /^(\.visible )?\.entry/ {
    match($0, /entry [A-Za-z0-9_]+/)
    kernel = substr($0, RSTART + 6, RLENGTH - 6)
}
i_file == 3 && /^[ \t]*(@!?%p[0-9]+[ \t]+)?ld\.([a-z]+\.)*global\./ {
    load = $1 ~ /^@/ ? $2 : $1
    loads[kernel, width(load)]++
    constants[kernel] += load ~ /\.nc\./
}
i_file == 3 && /cp\.async\.c[ag]\.shared\.global/ { loads[kernel, /, *16/ ? 16 : 4]++ }

END {
    for (i = 1; i <= n_kernel; i++) {
        kernel = order[i]
        if (!compiled[kernel])
            wrong("is in the table, but nvcc has compiled no such kernel")
        if (loads[kernel, 16] + 0 < wide[kernel])
            wrong("has " loads[kernel, 16] + 0 " loads of 16 bytes, at least " wide[kernel] " are wanted")
        if (constants[kernel] + 0 > constant[kernel])
            wrong("has " constants[kernel] " loads of constant data, at most " constant[kernel] " are allowed")
        printf "# %s: %d registers, loads of 1 2 4 8 16 bytes: %d %d %d %d %d\n", kernel, most[kernel],
            loads[kernel, 1], loads[kernel, 2], loads[kernel, 4], loads[kernel, 8], loads[kernel, 16]
    }
}
