// Lets one portable binary use the widest vectors of the machine it runs on: the loader picks a
// clone. Only for loops without OpenMP regions, whose outlined bodies would not be cloned. The
// dispatch happens at load time, before a sanitizer is initialized: those builds do without it.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KERNELS_VECTOR_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define KERNELS_VECTOR_CLONES
#endif
