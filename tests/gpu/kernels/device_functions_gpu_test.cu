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

struct ApproximationCount {
  unsigned long long wrong = 0;  // tiny arguments whose sigmoid is not 1/2
  unsigned long long tried = 0;
  unsigned int largest_error = 0;  // in units of 2^-24, rounded up
};

__global__ void approximation_error_kernel(ApproximationCount* count) {
  const float x = __uint_as_float(blockIdx.x * blockDim.x + threadIdx.x);
  if (!(fabsf(x) <= kernels::kApproximatedSigmoid)) return;
  const auto exact = static_cast<double>(kernels::sigmoid(x));
  const auto found = static_cast<double>(kernels::approximate_sigmoid(x));
  if (fabsf(x) < 0x1p-27F && (exact != 0.5 || found != 0.5)) atomicAdd(&count->wrong, 1ULL);
  const auto error = static_cast<unsigned>(ceil(fabs(found - exact) / exact * 0x1p24));
  if (error > *reinterpret_cast<volatile unsigned*>(&count->largest_error)) {
    atomicMax(&count->largest_error, error);
  }
  if (threadIdx.x == 0) atomicAdd(&count->tried, 1ULL);
}

TEST_F(SigmoidGpu, TheApproximationIsWithinItsBound) {
  const DeviceArray<ApproximationCount> device(std::vector<ApproximationCount>(1));
  approximation_error_kernel<<<1U << 24U, 256>>>(device.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const ApproximationCount count = device.values()[0];
  EXPECT_EQ(count.wrong, 0U);
  // Both signs up to 16 (0x41800000, itself one).
  EXPECT_EQ(count.tried, 2ULL * (0x41800000ULL / 256 + 1));
  RecordProperty("largest_error", static_cast<int>(count.largest_error));
  std::printf("largest error: %u of at most %u\n", count.largest_error, kernels::kSigmoidUlps);
  EXPECT_LE(count.largest_error, kernels::kSigmoidUlps);
  EXPECT_GT(count.largest_error, 0U);
}

struct ValueCount {
  unsigned long long wrong = 0;
  unsigned long long by_short_way = 0;  // of steps
};

/// Eight neighbouring gates and one up.
template <kernels::ActivationFunction kFunction, bool kClamped, class A>
__global__ void compare_values_kernel(ValueCount* count, A activation) {
  constexpr kernels::InputType kType = kernels::InputType::Bf16;
  const std::uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) % 8192 * 8;
  const std::uint32_t up = (blockIdx.x * blockDim.x + threadIdx.x) / 8192;
  kernels::RawStep<kType> gates;
  kernels::RawStep<kType> ups;
  for (std::uint32_t pair = 0; pair < 4; ++pair) {
    gates.words[pair] = (first + 2 * pair) | (first + 2 * pair + 1) << 16U;
    ups.words[pair] = up | up << 16U;
  }
  const kernels::RawStep<kType> found =
      kernels::activated_step<kFunction, true, kClamped, false>(activation, gates, ups, ups, false);
  const kernels::RawStep<kType> expected =
      kernels::combined_step(gates, ups, ups, [&](float g, float u, float) {
        return kernels::activated<kFunction, true, kClamped>(activation, g, u,
                                                             kernels::AnySigmoid());
      });
  for (int word = 0; word < 4; ++word) {
    if (found.words[word] != expected.words[word]) atomicAdd(&count->wrong, 1ULL);
  }
  kernels::RawStep<kType> made;
  const bool right = kernels::make_ordinary_step<kFunction, true, kClamped, false>(
      activation, gates, ups, ups, false, made);
  const unsigned short_way = __popc(__ballot_sync(0xFFFFFFFFU, right));
  if (threadIdx.x % 32 == 0) atomicAdd(&count->by_short_way, std::uint64_t{short_way});
}

template <kernels::ActivationFunction kFunction, bool kClamped, class A>
void expect_every_value(const A& activation) {
  const DeviceArray<ValueCount> device(std::vector<ValueCount>(1));
  compare_values_kernel<kFunction, kClamped><<<1U << 21U, 256>>>(device.get(), activation);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const ValueCount count = device.values()[0];
  EXPECT_EQ(count.wrong, 0U);
  // Half of all gates are below 1, whose steps nearly all take the short way.
  EXPECT_GT(count.by_short_way, (1ULL << 29U) * 4 / 10);
  EXPECT_LT(count.by_short_way, 1ULL << 29U);
}

// Every pair of a BF16 gate and a BF16 up.
TEST_F(SigmoidGpu, EveryBf16ValueOfAGatedActivation) {
  using kernels::ActivationFunction;
  expect_every_value<ActivationFunction::Silu, false>(kernels::Swiglu());
  expect_every_value<ActivationFunction::Silu, true>(kernels::kClampedSwiglu);
  expect_every_value<ActivationFunction::Gelu, false>(
      kernels::Activation{.function = ActivationFunction::Gelu, .gated = true});
}

}  // namespace
}  // namespace gpu_tests
