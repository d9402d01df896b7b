// A step of several micro-batches of an expert layer: forward of each in turn, then backward of
// each, eager or as graphs of their own. What a micro-batch saves, makes and is routed by is its
// own; quantized weights, and dW where it is accumulated, are those of the first.
//
//   forward 1, forward 2, ..., backward 1, backward 2, ...
//
// Captured apart, the parts take turns in this order, and the memory that only they use comes from
// one GraphMemory (engine/device/graph_memory.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/graph_memory.h"
#include "engine/layer/expert_layer_step.h"

namespace engine {

class MicroBatches final : public DeviceStep {
 public:
  /// Creates as many micro-batches as the request of the layer, which must have both passes, has in
  /// flight, with the pool that it chooses for graphs. Synchronises the stream.
  static Result<std::unique_ptr<MicroBatches>> create(std::shared_ptr<const CublasLt> library,
                                                      const ExpertLayerConfig& config,
                                                      const ExpertLayerStep::Operands& operands,
                                                      cudaStream_t stream);

  /// Writes the splits of the first micro-batch; the n-th after it gets them rotated by n places.
  Status write_step(std::span<const std::int64_t> splits, std::size_t step,
                    cudaStream_t stream) override;
  /// Enqueues the same splits for every micro-batch; a micro-batch with its own splits is addressed
  /// by itself.
  Status enqueue_splits(const void* splits, cudaStream_t stream) override;
  Status route(std::span<const std::int64_t> splits, std::size_t step,
               cudaStream_t stream) override;
  Status keep_weights(bool keep, cudaStream_t stream) const override;
  Status prepare(cudaStream_t stream, StepObserver& observer) const override;
  Status launch(cudaStream_t stream, StepObserver& observer) const override;
  /// Times those of every micro-batch and returns the first one's.
  Result<std::vector<ProductTrial>> try_candidates(cudaStream_t stream) override;
  Status check_splits(cudaStream_t stream) const override;
  std::vector<StepOutput> all_outputs() const override;
  int num_groups() const override { return batches_.front()->num_groups(); }

  int micro_batches() const override { return static_cast<int>(batches_.size()); }
  DeviceStep& micro_batch(int number) override {
    return *batches_[static_cast<std::size_t>(number)];
  }
  std::vector<std::string> graph_names() const override { return graph_names_; }
  Status launch_graph(int graph, cudaStream_t stream, StepObserver& observer) const override;
  GraphMemory* graph_memory() const override { return memory_.get(); }

  ExpertLayerStep& first() { return *batches_.front(); }

  /// Device bytes that create() allocates at most, operands not counted. How much of it graphs
  /// share is known only when their memory has been placed.
  static std::int64_t bytes(const ExpertLayerConfig& config);

 private:
  MicroBatches() = default;
  bool apart() const;
  Status launch_part(const ProgramPart& part, cudaStream_t stream, StepObserver& observer) const;

  std::shared_ptr<const StepProgram> program_;
  std::vector<std::string> graph_names_;
  std::shared_ptr<GraphMemory> memory_;  // null = buffers have memory of their own
  std::vector<std::unique_ptr<ExpertLayerStep>> batches_;
};

/// The splits of micro-batch `number`, from 0: those of the first one, rotated.
std::vector<std::int64_t> rotated_splits(std::span<const std::int64_t> splits, int number);

}  // namespace engine
