/* The shapes that kernels are tested and timed with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A product of x[n_row][n_in] with w[n_out][n_in]. */
struct case_matmul {
    int32_t n_in, n_out, n_row;
    const char *name;
};

/* Matrices of real models; timed for one row (decode), a few (a batch) and many (prefill). */
static const struct case_matmul case_real[] = {
    {2048, 8192, 1, "1B up"},    {8192, 2048, 1, "1B down"},   {2048, 512, 1, "1B k"},
    {896, 4864, 1, "0.5B up"},   {288, 768, 1, "15M up"},      {576, 1536, 4, "135M up"},
    {2048, 512, 16, "1B k x16"}, {896, 128, 64, "0.5B k x64"},
};

/* Lengths around every vector width, and around LK_BLOCK. */
static const int32_t case_edge[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   11,  12,  13,  15,   16,
                                    17,  19,  23,  24,  25,  31,  32,  33,  40,  47,  48,  49,  63,   64,
                                    65,  71,  79,  80,  95,  96,  97,  127, 128, 129, 160, 191, 193,  255,
                                    256, 257, 263, 272, 288, 300, 511, 512, 513, 520, 767, 769, 1000, 1027};

/* Elements of a head. */
static const int32_t case_head_dim[] = {1,  2,  3,  7,  8,  9,  15,  16,  17,  24,  31,  32, 33,
                                        40, 48, 64, 65, 80, 96, 100, 112, 128, 160, 192, 256};

#define CASE_COUNT(cases) ((int)(sizeof(cases) / sizeof *(cases)))
