// The fast path to E2M1 codes against the rule, for every FP32 bit pattern.
#include "kernels/common/micro_scale_rule.h"
#include "kernels/quantize/e2m1_encode.cuh"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

struct Count {
  unsigned long long wrong = 0;
  unsigned long long unnoticed = 0;  // NaN whose codes were not flagged as faulty
  unsigned long long tried = 0;
};

/// Eight adjacent bit patterns per thread, in a different order.
__global__ void compare_kernel(Count* count) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  float values[8];
  std::uint32_t expected = 0;
  bool nan = false;
  bool below_7 = true;
  for (std::uint32_t i = 0; i < 8; ++i) {
    values[i] = __uint_as_float(thread * 8 + ((i * 5 + thread) & 7U));
    expected |= kernels::e2m1_encode(values[i]) << (4 * i);
    nan = nan || isnan(values[i]);
    below_7 = below_7 && fabsf(values[i]) < 7.0F;
  }
  if (kernels::e2m1_codes(values, 1.0F) != expected) atomicAdd(&count->wrong, 1ULL);
  std::uint32_t fault = 0;
  const std::uint32_t codes =
      kernels::e2m1_codes_below_7(values, 1.0F, kernels::signs_of_values(values), fault);
  if (nan && fault == 0) atomicAdd(&count->unnoticed, 1ULL);
  if (!below_7) return;
  if (codes != expected || fault != 0) atomicAdd(&count->wrong, 1ULL);
  if (thread % 32 == 0) atomicAdd(&count->tried, 1ULL);
}

class E2m1Gpu : public DeviceTest {};

TEST_F(E2m1Gpu, CodesOfEveryFloat) {
  const DeviceArray<Count> device(std::vector<Count>(1));
  compare_kernel<<<1U << 21U, 256>>>(device.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const Count count = device.values()[0];
  EXPECT_EQ(count.wrong, 0U);
  EXPECT_EQ(count.unnoticed, 0U);
  // Both signs of every pattern below that of 7, eight per thread, one thread in 32 counted.
  EXPECT_EQ(count.tried, 2ULL * 0x40E00000ULL / 8 / 32);
}

}  // namespace
}  // namespace gpu_tests
