// Functions that kernels and their CPU twins share.
#pragma once

#ifdef __CUDACC__
#define KERNELS_HOST_DEVICE __host__ __device__
#else
#define KERNELS_HOST_DEVICE
#endif
