// The fast path of silu against the rule, for every FP32 bit pattern.
#include "kernels/common/activated_step.cuh"
#include "kernels/common/silu.h"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

struct Count {
  unsigned long long wrong = 0;
  unsigned long long tried = 0;
};

__global__ void compare_kernel(Count* count) {
  const float x = __uint_as_float(blockIdx.x * blockDim.x + threadIdx.x);
  if (fabsf(x) > kernels::kOrdinarySilu) return;
  // Times 1, since every use multiplies: this makes NaNs canonical.
  const float expected = __fmul_rn(kernels::silu(x), 1.0F);
  const float found = __fmul_rn(kernels::silu_ordinary(x), 1.0F);
  if (__float_as_uint(expected) != __float_as_uint(found)) atomicAdd(&count->wrong, 1ULL);
  if (threadIdx.x == 0) atomicAdd(&count->tried, 1ULL);
}

class SiluGpu : public DeviceTest {};

TEST_F(SiluGpu, EveryOrdinaryFloat) {
  const DeviceArray<Count> device(std::vector<Count>(1));
  compare_kernel<<<1U << 24U, 256>>>(device.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const Count count = device.values()[0];
  EXPECT_EQ(count.wrong, 0U);
  // First threads of the blocks: both signs up to 80 (0x42A00000, itself one), and of NaN, whose
  // patterns start behind 0x7F800000: there one block begins with infinity.
  EXPECT_EQ(count.tried, 2ULL * (0x42A00000ULL / 256 + 1 + 0x800000ULL / 256 - 1));
}

}  // namespace
}  // namespace gpu_tests
