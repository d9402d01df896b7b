// The FP8 products of a warpgroup: D[64, 128] += A[64, 32] B[128, 32]^T on Hopper's tensor cores,
// A and B in shared memory, D in registers.
#pragma once

#include <cstdint>

#include "kernels/common/formats.h"

namespace kernels::products {

inline constexpr int kFragment = 64;  // elements of D per thread

/// Operands in shared memory are lines of 128 bytes in the 128-byte swizzle of the copy engine,
/// eight lines (1024 bytes) after one another. The upper half of a descriptor says so: distance of
/// eight lines in units of 16 bytes, and the swizzle.
inline constexpr std::uint64_t kDescriptorLayout = std::uint64_t{0x40000040} << 32;

/// Compiler: these registers change here.
__device__ __forceinline__ void pin(float (&d)[kFragment]) {
#pragma unroll
  for (int i = 0; i < kFragment; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Operand lists of one instruction: 64 accumulators.
#define EXPERTSCOPE_FRAGMENT_TEXT                                                               \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "  \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "  \
  "%56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, "
#define EXPERTSCOPE_EIGHT(d, i)                                                                 \
  "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]), "+f"((d)[(i) + 4]), \
      "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]), "+f"((d)[(i) + 7])
#define EXPERTSCOPE_FRAGMENT(d)                                                     \
  EXPERTSCOPE_EIGHT(d, 0), EXPERTSCOPE_EIGHT(d, 8), EXPERTSCOPE_EIGHT(d, 16),       \
      EXPERTSCOPE_EIGHT(d, 24), EXPERTSCOPE_EIGHT(d, 32), EXPERTSCOPE_EIGHT(d, 40), \
      EXPERTSCOPE_EIGHT(d, 48), EXPERTSCOPE_EIGHT(d, 56)
// kAdds is known when compiling: the first product of a block overwrites D.
#define EXPERTSCOPE_MULTIPLY(types, adds)                                                         \
  asm volatile("{ .reg .pred adds;\nsetp.ne.b32 adds, " adds                                      \
               ", 0;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n128k32.f32." types " " EXPERTSCOPE_FRAGMENT_TEXT \
               "adds, 1, 1; }"                                                                    \
               : EXPERTSCOPE_FRAGMENT(d)                                                          \
               : "l"(a), "l"(b))

/// One instruction, 32 of the reduction.
template <Fp8Format kA, Fp8Format kB, bool kAdds>
__device__ __forceinline__ void multiply_step(float (&d)[kFragment], std::uint64_t a,
                                              std::uint64_t b) {
  constexpr bool kWideA = kA == Fp8Format::E5m2;
  constexpr bool kWideB = kB == Fp8Format::E5m2;
  if constexpr (kAdds) {
    if constexpr (kWideA && kWideB) EXPERTSCOPE_MULTIPLY("e5m2.e5m2", "1");
    if constexpr (kWideA && !kWideB) EXPERTSCOPE_MULTIPLY("e5m2.e4m3", "1");
    if constexpr (!kWideA && kWideB) EXPERTSCOPE_MULTIPLY("e4m3.e5m2", "1");
    if constexpr (!kWideA && !kWideB) EXPERTSCOPE_MULTIPLY("e4m3.e4m3", "1");
  } else {
    if constexpr (kWideA && kWideB) EXPERTSCOPE_MULTIPLY("e5m2.e5m2", "0");
    if constexpr (kWideA && !kWideB) EXPERTSCOPE_MULTIPLY("e5m2.e4m3", "0");
    if constexpr (!kWideA && kWideB) EXPERTSCOPE_MULTIPLY("e4m3.e5m2", "0");
    if constexpr (!kWideA && !kWideB) EXPERTSCOPE_MULTIPLY("e4m3.e4m3", "0");
  }
}

#undef EXPERTSCOPE_MULTIPLY
#undef EXPERTSCOPE_FRAGMENT
#undef EXPERTSCOPE_EIGHT
#undef EXPERTSCOPE_FRAGMENT_TEXT

/// D = A B^T over 32 kSteps of the reduction. `a`, `b`: addresses in shared memory, in units of 16
/// bytes. All four warps call; the products are done when finish_products() returns.
template <Fp8Format kA, Fp8Format kB, int kSteps>
__device__ __forceinline__ void start_products(float (&d)[kFragment], std::uint32_t a,
                                               std::uint32_t b) {
  pin(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply_step<kA, kB, false>(d, kDescriptorLayout | a, kDescriptorLayout | b);
#pragma unroll
  for (int step = 1; step < kSteps; ++step) {  // 32 bytes further in each line
    multiply_step<kA, kB, true>(d, kDescriptorLayout | (a + 2 * step),
                                kDescriptorLayout | (b + 2 * step));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  pin(d);
}

__device__ __forceinline__ void finish_products(float (&d)[kFragment]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  pin(d);
}

}  // namespace kernels::products
