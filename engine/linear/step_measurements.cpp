#include "engine/linear/step_measurements.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/device/batch_clock.h"
#include "engine/device/buffer.h"
#include "engine/device/device_facts.h"
#include "engine/linear/iteration_clock.h"
#include "engine/linear/product_shape.h"
#include "engine/linear/step_replay.h"

namespace engine {

namespace {

constexpr int kCopies = 10;
constexpr int kProducts = 20;
constexpr std::int64_t kMaxCopyBytes = std::int64_t{1} << 30;
// Less would fit into some devices' caches.
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
  ENGINE_ASSIGN(const BatchClock clock, BatchClock::create());
  std::vector<double> durations;
  for (int i = -2; i < samples; ++i) {  // two warm-ups
    ENGINE_ASSIGN(const double elapsed, clock.time(1, stream, launch));
    if (i >= 0) durations.push_back(elapsed);
  }
  Median median;
  summarize_into(median, std::move(durations));
  return median;
}

Status measure_copy(cudaStream_t stream, Ceilings& ceilings) {
  ENGINE_ASSIGN(const std::int64_t available, free_device_memory());
  const std::int64_t bytes =
      std::min(kMaxCopyBytes, (available - kReserveBytes) / 4) & ~std::int64_t{4095};
  if (bytes < kMinCopyBytes) return {};
  std::array<DeviceBuffer, 2> buffers;
  for (DeviceBuffer& buffer : buffers) {
    ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(bytes, {AllocationRole::Check, "copy bandwidth"}));
  }
  ENGINE_CUDA_TRY(cudaMemsetAsync(buffers[0].data(), 1, buffers[0].bytes(), stream),
                  "Filling the source of a copy");
  ENGINE_ASSIGN(const Median copy, time(kCopies, stream, [&] {
                  return check_cuda(
                      cudaMemcpyAsync(buffers[1].data(), buffers[0].data(), buffers[0].bytes(),
                                      cudaMemcpyDeviceToDevice, stream),
                      "Copying device memory");
                }));
  ceilings.copies = copy.samples;
  ceilings.copy_bytes = bytes;
  ceilings.copy_bytes_per_s = 2.0 * static_cast<double>(bytes) / (copy.median_ns * 1e-9);
  return {};
}

/// The step as one dense product: one group that has every row.
StepConfig dense_config(const StepConfig& config) {
  StepConfig dense = config;
  dense.shape.num_experts = 1;
  dense.layers = 1;
  dense.products = {};
  dense.backend = GemmBackend::CublasLtPerExpert;
  dense.streams = 1;
  dense.workspace = WorkspaceStrategy::PerMatmul;
  dense.setup_arrays = SetupArrays::PerMatmul;
  dense.programmatic_launch = false;
  dense.host_splits = {config.capacity_rows()};
  return dense;
}

Status measure_product(const GroupedStep& step, cudaStream_t stream, Ceilings& ceilings) {
  const StepConfig dense = dense_config(step.config());
  if (dense.capacity_rows() == 0) {
    ceilings.product = "none: the step has no rows";
    return {};
  }
  ENGINE_ASSIGN(const std::int64_t available, free_device_memory());
  if (GroupedStep::bytes(dense) + kReserveBytes > available) {
    ceilings.product = "none: not enough device memory beside the step";
    return {};
  }
  Result<GroupedStep> made =
      GroupedStep::create(step.library(), dense,
                          {.activations = {step.operands().activations.front()},
                           .weights = {step.weights_of_expert(0, 0)}},
                          {}, stream);
  if (!made.ok()) {
    ceilings.product = "none: " + made.error().message;
    return {};
  }
  GroupedStep& product = made.value();
  StepObserver unobserved;
  ENGINE_TRY(product.write_splits(dense.host_splits, stream));
  ENGINE_TRY(product.launch(stream, unobserved));
  ENGINE_ASSIGN(const Median median, time(kProducts, stream, [&] {
                  return product.launch_products(Product::Fprop, stream, unobserved);
                }));
  ceilings.products = median.samples;
  ceilings.product_flop_per_s = 2.0 * static_cast<double>(dense.capacity_rows()) *
                                static_cast<double>(dense.n()) * static_cast<double>(dense.k()) /
                                (median.median_ns * 1e-9);
  ceilings.product =
      fmt::format("dense {} x {} x {}, {}, one cuBLASLt matmul", dense.capacity_rows(), dense.n(),
                  dense.k(), product_recipe_name(dense));
  return {};
}

}  // namespace

Result<Ceilings> measure_ceilings(const GroupedStep& step, cudaStream_t stream) {
  Ceilings ceilings;
  ENGINE_TRY(measure_copy(stream, ceilings));
  ENGINE_TRY(measure_product(step, stream, ceilings));
  return ceilings;
}

namespace {

constexpr int kSamples = 5;
constexpr int kLaunchesPerSample = 4;

std::vector<Product> products_of(const StepConfig& config) {
  std::vector<Product> products;
  if (config.forward()) products.push_back(Product::Fprop);
  if (config.backward()) {
    products.push_back(Product::Dgrad);
    products.push_back(Product::Wgrad);
  }
  return products;
}

class IsolatedExperts {
 public:
  IsolatedExperts(GroupedStep& step, std::span<const std::int64_t> splits, cudaStream_t stream,
                  const BatchClock& clock)
      : step_(step), splits_(splits), stream_(stream), clock_(clock) {}

  Status time(int expert, std::vector<ExpertTiming>& timings) {
    const bool grouped = traits_of(step_.config().backend).one_launch;
    std::vector<std::int64_t> alone(splits_.size(), 0);
    alone[static_cast<std::size_t>(expert)] = splits_[static_cast<std::size_t>(expert)];
    ENGINE_TRY(step_.write_splits(alone, stream_));
    StepObserver unobserved;
    // Arrays and operands for these splits. A backend that bakes in the splits would read the wrong
    // rows, so it launches its one matmul on the operands of all experts.
    if (grouped) ENGINE_TRY(step_.launch(stream_, unobserved));
    if (!grouped) ENGINE_TRY(step_.launch_setup(stream_));
    if (step_.config().quantized()) {
      ENGINE_TRY(add(Stage::Quantize, expert, timings,
                     [&] { return step_.quantize_activations(stream_); }));
    }
    if (!grouped) {
      ENGINE_TRY(step_.write_splits(splits_, stream_));
      ENGINE_TRY(step_.launch(stream_, unobserved));
    }
    for (const Product product : products_of(step_.config())) {
      ENGINE_TRY(add(stage_of(product), expert, timings, [&] {
        return grouped ? step_.launch_products(product, stream_, unobserved)
                       : step_.launch_expert(product, expert, stream_);
      }));
    }
    return {};
  }

 private:
  template <class Launch>
  Status add(Stage stage, int expert, std::vector<ExpertTiming>& timings, Launch&& launch) {
    std::vector<double> durations;
    for (int sample = -1; sample < kSamples; ++sample) {  // the first is a warm-up
      ENGINE_ASSIGN(const double elapsed, clock_.time(kLaunchesPerSample, stream_, launch));
      if (sample >= 0) durations.push_back(elapsed);
    }
    ExpertTiming& timing = timings.emplace_back();
    timing.method = ExpertMethod::Isolated;
    timing.stage = stage;
    timing.expert = expert;
    summarize_into(timing, std::move(durations));
    return {};
  }

  GroupedStep& step_;
  std::span<const std::int64_t> splits_;
  cudaStream_t stream_;
  const BatchClock& clock_;
};

}  // namespace

Result<std::vector<ExpertTiming>> time_isolated_experts(GroupedStep& step,
                                                        std::span<const std::int64_t> splits,
                                                        cudaStream_t stream,
                                                        const std::function<bool()>& cancelled) {
  ENGINE_ASSIGN(const BatchClock clock, BatchClock::create());
  IsolatedExperts isolated(step, splits, stream, clock);
  std::vector<ExpertTiming> timings;
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    if (cancelled()) return Error{ErrorCode::Cancelled, "The run was cancelled"};
    if (splits[expert] > 0) ENGINE_TRY(isolated.time(static_cast<int>(expert), timings));
  }
  ENGINE_TRY(step.write_splits(splits, stream));
  return timings;
}

namespace {

constexpr int kBlocks = 9;
constexpr int kWarmUpLaunches = 2;
constexpr int kLaunchesPerBlock = 10;

struct Level {
  TraceLevel level;
  std::vector<double> durations_ns;
};

Status run_block(Level& level, StepObserver& observer, cudaStream_t stream,
                 std::span<const Graph> graphs, ReplayWatchdog* watchdog,
                 const std::function<Status()>& launch_eager) {
  observer.set_trace(level.level);
  ENGINE_ASSIGN(const StepReplay replay, StepReplay::create(graphs));
  const auto launch = [&]() -> Status {
    if (graphs.empty()) return launch_eager();
    const auto call = [&] { return replay.launch(stream); };
    return watchdog == nullptr ? call() : watchdog->launch(call);
  };
  ENGINE_ASSIGN(IterationClock made, IterationClock::create(watchdog));
  IterationClock& clock = made;
  Status status;
  for (int i = 0; i < kWarmUpLaunches + kLaunchesPerBlock && status.ok(); ++i) {
    ENGINE_TRY(clock.begin(stream));
    status = launch();
    ENGINE_TRY(clock.end(stream));
  }
  ENGINE_TRY(clock.finish());
  // The executable graph must outlive its launches, also when one was refused.
  ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Waiting for the watched replays");
  ENGINE_TRY(status);
  std::vector<Iteration> iterations = clock.take();
  iterations.erase(iterations.begin(), iterations.begin() + kWarmUpLaunches);
  for (const Iteration& iteration : iterations) {
    level.durations_ns.push_back(static_cast<double>(iteration.duration_ns));
  }
  return {};
}

}  // namespace

Result<std::vector<ObserverTiming>> measure_observer(StepObserver& observer, cudaStream_t stream,
                                                     std::span<const Graph> graphs,
                                                     ReplayWatchdog* watchdog,
                                                     const std::function<Status()>& launch_eager,
                                                     const std::function<bool()>& cancelled) {
  std::vector<Level> levels = {{TraceLevel::Off, {}}, {TraceLevel::Nodes, {}}};
  if (!graphs.empty()) levels.push_back({TraceLevel::Graphs, {}});
  Status status;
  for (int block = 0; block < kBlocks && status.ok(); ++block) {
    if (cancelled()) status = Error{ErrorCode::Cancelled, "The run was cancelled"};
    for (std::size_t turn = 0; turn < levels.size() && status.ok(); ++turn) {
      // Every level is first, second and last equally often.
      Level& level = levels[(turn + static_cast<std::size_t>(block)) % levels.size()];
      status = run_block(level, observer, stream, graphs, watchdog, launch_eager);
    }
  }
  observer.set_trace(TraceLevel::Off);
  ENGINE_TRY(status);
  std::vector<ObserverTiming> timings;
  for (Level& level : levels) {
    ObserverTiming& timing = timings.emplace_back();
    timing.level = level.level;
    summarize_into(timing, std::move(level.durations_ns));
  }
  return timings;
}

}  // namespace engine
