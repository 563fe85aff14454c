/* Root mean square normalisation with AVX-512: norm_vec.h in the words of vec_avx512.h. */
#include "config.h"

#include "kernels/cpu/x86/vec_avx512.h"
#include "kernels/cpu/x86/x86_map.h"

#include "kernels/cpu/x86/norm_vec.h"
