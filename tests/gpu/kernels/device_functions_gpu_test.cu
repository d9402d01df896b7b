// Device functions that take a short way against their rules, for every FP32 bit pattern.
#include "kernels/common/activated_step.cuh"
#include "kernels/common/micro_scale_rule.h"
#include "kernels/quantize/e2m1_encode.cuh"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

struct E2m1Count {
  unsigned long long wrong = 0;
  unsigned long long unnoticed = 0;  // NaN whose codes were not flagged as faulty
  unsigned long long tried = 0;
};

/// Eight adjacent bit patterns per thread, in a different order.
__global__ void compare_e2m1_kernel(E2m1Count* count) {
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
  const DeviceArray<E2m1Count> device(std::vector<E2m1Count>(1));
  compare_e2m1_kernel<<<1U << 21U, 256>>>(device.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const E2m1Count count = device.values()[0];
  EXPECT_EQ(count.wrong, 0U);
  EXPECT_EQ(count.unnoticed, 0U);
  // Both signs of every pattern below that of 7, eight per thread, one thread in 32 counted.
  EXPECT_EQ(count.tried, 2ULL * 0x40E00000ULL / 8 / 32);
}

struct SigmoidCount {
  unsigned long long wrong = 0;
  unsigned long long tried = 0;
};

/// Value and slope, as every use has them.
template <kernels::ActivationFunction kFunction>
__global__ void compare_sigmoid_kernel(SigmoidCount* count) {
  const float x = __uint_as_float(blockIdx.x * blockDim.x + threadIdx.x);
  constexpr kernels::Activation kPlain = {.function = kFunction};
  if (fabsf(kernels::sigmoid_argument<kFunction>(kPlain, x)) > kernels::kOrdinarySigmoid) return;
  const auto expected = kernels::function_slope<kFunction>(kPlain, x, kernels::AnySigmoid());
  const auto found = kernels::function_slope<kFunction>(kPlain, x, kernels::OrdinarySigmoid());
  // Times 1 makes NaNs canonical.
  const auto same = [](float a, float b) {
    return __float_as_uint(__fmul_rn(a, 1.0F)) == __float_as_uint(__fmul_rn(b, 1.0F));
  };
  if (!same(expected.value, found.value) || !same(expected.slope, found.slope)) {
    atomicAdd(&count->wrong, 1ULL);
  }
  if (threadIdx.x == 0) atomicAdd(&count->tried, 1ULL);
}

class SigmoidGpu : public DeviceTest {};

template <kernels::ActivationFunction kFunction>
SigmoidCount compare_every_float() {
  const DeviceArray<SigmoidCount> device(std::vector<SigmoidCount>(1));
  compare_sigmoid_kernel<kFunction><<<1U << 24U, 256>>>(device.get());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return device.values()[0];
}

TEST_F(SigmoidGpu, EveryOrdinaryFloat) {
  const SigmoidCount silu = compare_every_float<kernels::ActivationFunction::Silu>();
  EXPECT_EQ(silu.wrong, 0U);
  // First threads of the blocks: both signs up to 80 (0x42A00000, itself one), and of NaN, whose
  // patterns start behind 0x7F800000: there one block begins with infinity.
  EXPECT_EQ(silu.tried, 2ULL * (0x42A00000ULL / 256 + 1 + 0x800000ULL / 256 - 1));
  const SigmoidCount gelu = compare_every_float<kernels::ActivationFunction::Gelu>();
  EXPECT_EQ(gelu.wrong, 0U);
  // Up to about 8.
  EXPECT_GT(gelu.tried, 2ULL * (0x40E00000ULL / 256 + 1 + 0x800000ULL / 256 - 1));
}

}  // namespace
}  // namespace gpu_tests
