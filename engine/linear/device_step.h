// What a step on the device is to those who run, time and check it, whatever it computes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/graph_memory.h"
#include "engine/gemm/grouped_product.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// An output of the step, as the checks and the statistics read it.
struct StepOutput {
  Product product = Product::Fprop;
  int layer = 0;  // as in WorkTag
  void* values = nullptr;
  ElementType type = ElementType::Bf16;
  const std::int64_t* row_offsets = nullptr;  // device
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
  bool added_to = false;  // by every launch, instead of overwritten
  int micro_batch = 0;
};

/// The candidates of one product.
struct ProductTrial {
  int layer = 0;  // as in WorkTag
  Product product = Product::Fprop;
  AlgorithmTrial trial;
};

/// Alignment of the experts of tokens, int32 [tokens, top_k], which follow splits of this width.
inline constexpr std::size_t kRoutingAlignment = 16;
constexpr std::size_t experts_offset(std::size_t num_groups, std::size_t width) {
  return (num_groups * width + kRoutingAlignment - 1) / kRoutingAlignment * kRoutingAlignment;
}

class DeviceStep {
 public:
  virtual ~DeviceStep() = default;
  /// For set-up and tests only: a running step may be reading them.
  Status write_splits(std::span<const std::int64_t> splits, cudaStream_t stream) {
    return write_step(splits, 0, stream);
  }
  /// The same of recorded step `step`, in the order of replay: a step that begins at tokens has its
  /// choices.
  virtual Status write_step(std::span<const std::int64_t> splits, std::size_t step,
                            cudaStream_t stream) = 0;
  /// For launches to come, between them on their stream: only enqueues. `splits` [num_groups] are
  /// page-locked, as wide as the step's own, and stay until the copy is made. A step that begins at
  /// tokens reads their experts behind them, at experts_offset(). What a launch has of
  /// splits on the host does not follow (BackendTraits::one_launch).
  virtual Status enqueue_splits(const void* splits, cudaStream_t stream) = 0;
  /// As write_step(), and makes anew what has its splits on the host: products of one matmul per
  /// expert. None of them may be running, and no graph that captured them be launched again.
  virtual Status route(std::span<const std::int64_t> splits, std::size_t step,
                       cudaStream_t stream) = 0;
  /// Called before a launch, on its stream: whether the launch keeps the existing quantized
  /// weights. The flag is on the device, so that replays follow it.
  virtual Status keep_weights(bool keep, cudaStream_t stream) const = 0;
  /// Computes what a step with StepPasses::Backward reads of the preceding forward step. Called
  /// once, before the first launch; does nothing for other passes.
  virtual Status prepare(cudaStream_t stream, StepObserver& observer) const = 0;
  /// Only enqueues; can be captured.
  virtual Status launch(cudaStream_t stream, StepObserver& observer) const = 0;
  /// Times the products' candidates, after a launch. Synchronises; outputs are overwritten.
  virtual Result<std::vector<ProductTrial>> try_candidates(cudaStream_t stream) = 0;
  /// Synchronises. An error if any launch since creation met splits that were negative or exceeded
  /// the capacity.
  virtual Status check_splits(cudaStream_t stream) const = 0;
  /// Everything that launch() writes for its caller.
  virtual std::vector<StepOutput> all_outputs() const = 0;
  virtual int num_groups() const = 0;

  /// Parts of a step whose splits are written apart, from 0.
  virtual int micro_batches() const { return 1; }
  virtual DeviceStep& micro_batch(int /*number*/) { return *this; }
  /// The graphs that a step is captured as, in the order of captures and launches; launch() is all
  /// of them.
  virtual std::vector<std::string> graph_names() const { return {"step"}; }
  virtual Status launch_graph(int /*graph*/, cudaStream_t stream, StepObserver& observer) const {
    return launch(stream, observer);
  }
  /// Memory that only the graphs use, with a turn for each graph. Null: no graph has memory of its
  /// own.
  virtual GraphMemory* graph_memory() const { return nullptr; }

 protected:
  DeviceStep() = default;
  DeviceStep(DeviceStep&&) = default;
  DeviceStep& operator=(DeviceStep&&) = default;
};

}  // namespace engine
