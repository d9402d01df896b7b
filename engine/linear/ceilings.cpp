#include "engine/linear/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/device/device_facts.h"
#include "engine/linear/batch_clock.h"
#include "engine/linear/product_shape.h"
#include "engine/linear/timing_summary.h"

namespace engine {
namespace {

constexpr int kCopies = 10;
constexpr int kProducts = 20;
constexpr std::int64_t kMaxCopyBytes = std::int64_t{1} << 30;
// Less would fit into the caches of some device.
constexpr std::int64_t kMinCopyBytes = std::int64_t{256} << 20;
// Kernels that are loaded lazily need room too.
constexpr std::int64_t kReserveBytes = std::int64_t{512} << 20;

struct Median {
  int samples = 0;
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
};

template <class Launch>
Result<Median> time(int samples, cudaStream_t stream, Launch&& launch) {
  const Result<BatchClock> clock = BatchClock::create();
  if (!clock.ok()) return clock.error();
  std::vector<double> durations;
  for (int i = -2; i < samples; ++i) {  // two warm-ups
    const Result<double> elapsed = clock.value().time(1, stream, launch);
    if (!elapsed.ok()) return elapsed.error();
    if (i >= 0) durations.push_back(elapsed.value());
  }
  Median median;
  summarize_into(median, std::move(durations));
  return median;
}

Status measure_copy(cudaStream_t stream, Ceilings& ceilings) {
  const Result<std::int64_t> available = free_device_memory();
  if (!available.ok()) return available.error();
  const std::int64_t bytes =
      std::min(kMaxCopyBytes, (available.value() - kReserveBytes) / 4) & ~std::int64_t{4095};
  if (bytes < kMinCopyBytes) return {};
  std::array<DeviceBuffer, 2> buffers;
  for (DeviceBuffer& buffer : buffers) {
    Result<DeviceBuffer> made =
        DeviceBuffer::allocate(bytes, {AllocationRole::Check, "copy bandwidth"});
    if (!made.ok()) return made.error();
    buffer = std::move(made).value();
  }
  ENGINE_CUDA_TRY(cudaMemsetAsync(buffers[0].data(), 1, buffers[0].bytes(), stream),
                  "Filling the source of a copy");
  const Result<Median> copy = time(kCopies, stream, [&] {
    return check_cuda(cudaMemcpyAsync(buffers[1].data(), buffers[0].data(), buffers[0].bytes(),
                                      cudaMemcpyDeviceToDevice, stream),
                      "Copying device memory");
  });
  if (!copy.ok()) return copy.error();
  ceilings.copies = copy.value().samples;
  ceilings.copy_bytes = bytes;
  ceilings.copy_bytes_per_s = 2.0 * static_cast<double>(bytes) / (copy.value().median_ns * 1e-9);
  return {};
}

/// The step as one dense product: one group that has every row.
StepConfig dense_config(const StepConfig& config) {
  StepConfig dense = config;
  dense.num_groups = 1;
  dense.layers = 1;
  dense.linear = {};
  dense.backend = GemmBackend::CublasLtPerExpert;
  dense.streams = 1;
  dense.workspace = WorkspaceStrategy::PerMatmul;
  dense.setup_arrays = SetupArrays::PerMatmul;
  dense.programmatic = false;
  dense.host_splits = {config.capacity_rows};
  return dense;
}

Status measure_product(const GroupedStep& step, cudaStream_t stream, Ceilings& ceilings) {
  const StepConfig dense = dense_config(step.config());
  if (dense.capacity_rows == 0) {
    ceilings.product = "none: the step has no rows";
    return {};
  }
  const Result<std::int64_t> available = free_device_memory();
  if (!available.ok()) return available.error();
  if (GroupedStep::bytes(dense) + kReserveBytes > available.value()) {
    ceilings.product = "none: not enough device memory beside the step";
    return {};
  }
  Result<GroupedStep> made = GroupedStep::create(
      step.library(), dense,
      {.activations = step.operands().activations, .weights = {step.weights_of_expert(0, 0)}}, {},
      stream);
  if (!made.ok()) {
    ceilings.product = "none: " + made.error().message;
    return {};
  }
  GroupedStep& product = made.value();
  StepObserver unobserved;
  ENGINE_TRY(product.write_splits(dense.host_splits, stream));
  ENGINE_TRY(product.launch(stream, unobserved));
  const Result<Median> median = time(kProducts, stream, [&] {
    return product.launch_product(Product::Fprop, stream, unobserved);
  });
  if (!median.ok()) return median.error();
  ceilings.products = median.value().samples;
  ceilings.product_flop_per_s = 2.0 * static_cast<double>(dense.capacity_rows) *
                                static_cast<double>(dense.n) * static_cast<double>(dense.k) /
                                (median.value().median_ns * 1e-9);
  ceilings.product = fmt::format("dense {} x {} x {}, {}, one cuBLASLt matmul", dense.capacity_rows,
                                 dense.n, dense.k, product_recipe_name(dense));
  return {};
}

}  // namespace

Result<Ceilings> measure_ceilings(const GroupedStep& step, cudaStream_t stream) {
  Ceilings ceilings;
  ENGINE_TRY(measure_copy(stream, ceilings));
  ENGINE_TRY(measure_product(step, stream, ceilings));
  return ceilings;
}

}  // namespace engine
