#include "engine/backend/cpu/cpu_ceilings.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/backend/cpu/host_span.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/product.h"
#include "engine/input/host_buffer.h"

namespace engine {
namespace {

constexpr int kSamples = 5;
constexpr std::int64_t kCopyBytes = std::int64_t{256} << 20;

/// Median of the durations after a warm-up.
template <class Work>
double median_ns(Work&& work) {
  std::vector<std::int64_t> durations;
  for (int sample = -1; sample < kSamples; ++sample) {
    const std::int64_t start_ns = steady_ns();
    work();
    if (sample >= 0) durations.push_back(steady_ns() - start_ns);
  }
  std::ranges::nth_element(durations, durations.begin() + kSamples / 2);
  return static_cast<double>(std::max<std::int64_t>(durations[kSamples / 2], 1));
}

void measure_copy(Ceilings& ceilings) {
  const std::int64_t available = available_memory_bytes();
  if (available != 0 && available < 4 * kCopyBytes) return;
  Buffer<std::byte> source;
  Buffer<std::byte> target;
  std::byte* const from = source.reserve(kCopyBytes);
  std::byte* const to = target.reserve(kCopyBytes);
  const int threads = omp_get_max_threads();
  const std::int64_t share = kCopyBytes / threads;
  const auto each = [&](auto&& part) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) part(thread * share);
  };
  // Pages come into being where they are first written.
  each([&](std::int64_t at) { std::memset(from + at, 1, static_cast<std::size_t>(share)); });
  const double duration = median_ns([&] {
    each(
        [&](std::int64_t at) { std::memcpy(to + at, from + at, static_cast<std::size_t>(share)); });
  });
  ceilings.copies = kSamples;
  ceilings.copy_bytes = share * threads;
  ceilings.copy_bytes_per_s = 2.0 * static_cast<double>(ceilings.copy_bytes) / (duration * 1e-9);
}

void measure_product(const GroupedShape& shape, Ceilings& ceilings) {
  const std::int64_t tokens =
      std::accumulate(shape.splits.begin(), shape.splits.end(), std::int64_t{0});
  const std::int64_t m = std::min(tokens, kCeilingSide);
  const std::int64_t n = std::min(shape.n, kCeilingSide);
  const std::int64_t k = std::min(shape.k, kCeilingSide);
  if (m == 0) {
    ceilings.product = "none: the step has no rows";
    return;
  }
  const std::vector<float> x(static_cast<std::size_t>(m * k), 1.0F);
  const std::vector<float> w(static_cast<std::size_t>(n * k), 0.5F);
  std::vector<float> y(static_cast<std::size_t>(m * n));
  const double duration = median_ns([&] {
    product({.x = x.data(),
             .w = w.data(),
             .m = m,
             .n = n,
             .k = k,
             .y_type = ElementType::Fp32,
             .y = y.data()});
  });
  ceilings.products = kSamples;
  ceilings.product_flop_per_s = 2.0 * static_cast<double>(m) * static_cast<double>(n) *
                                static_cast<double>(k) / (duration * 1e-9);
  ceilings.product = fmt::format("dense {} x {} x {}, FP32, {}", m, n, k, openblas_name());
}

}  // namespace

Ceilings measure_cpu_ceilings(const GroupedShape& shape) {
  Ceilings ceilings;
  measure_copy(ceilings);
  measure_product(shape, ceilings);
  return ceilings;
}

}  // namespace engine
