// Lets one portable binary use the widest vectors of the machine it starts on: the loader picks a
// clone. Only for loops without OpenMP regions, whose outlined bodies would not be cloned.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define KERNELS_VECTOR_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define KERNELS_VECTOR_CLONES
#endif
