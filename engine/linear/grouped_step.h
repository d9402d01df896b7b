// The grouped linear step on the device. launch() only enqueues: no allocation (but for PerCall
// workspaces, which allocate on the stream), no host synchronisation, no split read back. Splits
// live on the device; a captured launch follows what they hold at replay time. It implements the
// operations of one projection; a linear step runs its own program of them
// (engine/program/step_program.h), an expert layer that of both projections.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"
#include "engine/linear/device_step.h"
#include "engine/linear/step_arrays.h"
#include "engine/linear/step_config.h"
#include "engine/linear/step_operand.h"
#include "engine/linear/step_tensors.h"
#include "engine/linear/workspaces.h"
#include "engine/observe/step_observer.h"
#include "engine/program/projection_program.h"

namespace engine {

class GroupedStep final : public DeviceStep {
 public:
  /// A projection of an expert layer: the part of the layer's program that it runs, and the
  /// workspaces that it shares with a step of the same strategy and passes (null = its own).
  struct Part {
    ProjectionProgram program;
    std::shared_ptr<const Workspaces> workspaces = nullptr;
  };
  /// Allocates what its program needs and asks for algorithms. Synchronises the stream.
  /// InvalidArgument if operands are missing.
  static Result<GroupedStep> create(std::shared_ptr<const CublasLt> library,
                                    const StepConfig& config, StepOperands operands,
                                    std::vector<CallerOutputs> outputs, cudaStream_t stream);
  static Result<GroupedStep> create(std::shared_ptr<const CublasLt> library,
                                    const StepConfig& config, Part part, StepOperands operands,
                                    std::vector<CallerOutputs> outputs, cudaStream_t stream);

  Status write_step(std::span<const std::int64_t> splits, std::size_t step,
                    cudaStream_t stream) override;
  Status enqueue_splits(const void* splits, cudaStream_t stream) override;
  Status route(std::span<const std::int64_t> splits, std::size_t step,
               cudaStream_t stream) override;
  Status keep_weights(bool keep, cudaStream_t stream) const override;
  Status launch(cudaStream_t stream, StepObserver& observer) const override;
  Status prepare(cudaStream_t stream, StepObserver& observer) const override;

  /// The first launches of a step on their own.
  Status launch_setup(cudaStream_t stream) const { return pointers_.launch_head(ours(stream)); }
  /// An operation of this projection.
  Status run(const Operation& operation, cudaStream_t stream, StepObserver& observer) const;

  /// One kind of product of every layer, without biases, on the operands of an earlier launch.
  Status launch_products(Product product, cudaStream_t stream, StepObserver& observer) const;

  /// Launches one expert of layer 0; Unsupported for a backend that does not launch experts one by
  /// one.
  Status launch_expert(Product product, int expert, cudaStream_t stream) const;
  /// Tiles of this product of layer 0 that leave stamps; 0 where it leaves none.
  std::int64_t stamped_tiles(Product product) const;
  /// What a launch of this product of layer 0 is recorded as.
  WorkTag tag_of(Product product) const;
  /// Launches this product of layer 0, on the operands of an earlier launch; its tiles leave
  /// stamps.
  Status launch_stamped(Product product, kernels::StampBuffer stamps, cudaStream_t stream) const;
  /// Quantizes X alone, as launch() does; the tiles leave stamps if the buffer is not null. Does
  /// nothing for a high-precision recipe.
  Status quantize_activations(cudaStream_t stream, kernels::StampBuffer stamps = {}) const;
  /// What it is recorded as.
  WorkTag tag_of_activations() const;

  Result<std::vector<ProductTrial>> try_candidates(cudaStream_t stream) override;
  /// Tries the algorithms of either fprop or the products of the gradients.
  Result<std::vector<ProductTrial>> try_candidates(cudaStream_t stream, bool fprop);
  Status check_splits(cudaStream_t stream) const override;
  std::vector<StepOutput> all_outputs() const override;
  int num_groups() const override { return config_.num_groups(); }

  const StepConfig& config() const { return config_; }
  const StepArrays& arrays() const { return arrays_; }
  const std::shared_ptr<const CublasLt>& library() const { return library_; }
  const LayerOutputs& outputs(int layer) const { return outputs_[static_cast<std::size_t>(layer)]; }
  /// The operands as the kernels see them, with device pointers.
  kernels::GroupedInput activations(int layer = 0) const;
  kernels::GroupedInput gradients(int layer = 0) const;
  /// For a list of weights, without an address of values.
  kernels::GroupedInput weights(int layer) const;
  const void* weights_of_expert(int layer, int expert) const;
  const StepOperands& operands() const { return operands_; }
  /// For a step that computes on the same weights.
  const std::shared_ptr<const std::vector<StepOperand>>& quantized_weights() const { return w_; }

  /// Device bytes that create() allocates, operands not counted.
  static std::int64_t bytes(const StepConfig& config);
  static std::int64_t bytes(const StepConfig& config, const ProjectionProgram& program);

 private:
  struct StepProduct {
    int layer = 0;
    Product product = Product::Fprop;
    WrittenValue writes = WrittenValue::Unknown;
    std::unique_ptr<GroupedProduct> matmul;
    std::optional<ProductAlphas> alphas = {};  // of native NVFP4
  };
  GroupedStep() = default;
  /// Among the step's products; none if it has no such one.
  std::optional<std::size_t> index_of(int layer, Product product) const;
  /// Program of a step that is this projection alone.
  static ProjectionProgram program_alone(const StepConfig& config);
  /// For launches of this project's kernels.
  kernels::LaunchStream ours(cudaStream_t stream) const {
    return {stream, config_.programmatic_launch};
  }
  Status check_operands() const;
  Status make_bias_partials();
  Status make_operands(cudaStream_t stream);
  Status take_outputs(cudaStream_t stream);
  Status make_products(cudaStream_t stream);
  Status add_product(const Operation& product, cudaStream_t stream);
  /// What quantizes that operand of the layer.
  Result<const StepOperand*> operand(const Operation& quantize) const;
  /// Where a product finds what it reads of the operand of that role.
  OperandSource source(const Operation& product, OperandRole role) const;
  kernels::GroupedInput input(OperandRole role, int layer) const;
  std::vector<const void*> listed_weights(int layer) const;
  WorkTag tag(Stage stage, WrittenValue writes, int layer) const {
    return {.stage = stage, .layer = config_.tag(layer), .writes = writes};
  }
  WorkTag tag(const Operation& operation) const {
    return tag(operation.traits().stage, written_by(operation), operation.layer);
  }
  Status add_bias(const Operation& add, cudaStream_t stream, StepObserver& observer) const;
  Status sum_bias(const Operation& sum, cudaStream_t stream, StepObserver& observer) const;
  Status launch_product(int layer, Product product, cudaStream_t stream,
                        StepObserver& observer) const;
  Status launch_product(std::size_t index, cudaStream_t stream, StepObserver& observer) const;
  kernels::GroupedInput input_of(const std::vector<OperandInput>& operands, int layer,
                                 std::int64_t columns) const;

  std::shared_ptr<const CublasLt> library_;
  StepConfig config_;
  ProjectionProgram program_;
  std::vector<std::int64_t> written_splits_;  // by write_splits(), last
  StepOperands operands_;
  StepArrays arrays_;
  PointerArrays pointers_;
  std::shared_ptr<const Workspaces> workspaces_;
  std::vector<StepOperand> quantized_;                 // X and dY, one per quantize operation
  std::shared_ptr<const std::vector<StepOperand>> w_;  // W, in the same way; none in BF16
  std::vector<DeviceBuffer> owned_;
  std::vector<LayerOutputs> outputs_;
  DeviceBuffer bias_partials_;
  std::vector<StepProduct> products_;  // in the order they run when nothing is delayed
};

}  // namespace engine
