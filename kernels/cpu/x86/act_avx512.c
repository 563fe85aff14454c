/* Activations times a gate's partner, addition, scaling and soft caps with AVX-512: act_vec.h in the words of
 * vec_avx512.h. */
#include "config.h"

#include "kernels/cpu/x86/vec_avx512.h"
#include "kernels/cpu/x86/x86_map.h"

#include "kernels/cpu/x86/act_vec.h"
