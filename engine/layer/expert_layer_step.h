// A whole expert layer on the device: the executor of its program (engine/program/step_program.h)
// over two grouped linear steps, the activation between them, fused into their quantize kernels
// where the recipe's can, and the permutation of tokens. launch() only enqueues, as GroupedStep's
// does.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/input/token_routing.h"
#include "engine/layer/token_permutation.h"
#include "engine/linear/grouped_step.h"
#include "engine/model/projections.h"
#include "engine/program/step_program.h"

namespace engine {

/// What the layer is made for. Its projections' configurations are those of linear steps with the
/// layer's tokens, groups and layers.
struct ExpertLayerConfig {
  StepConfig up;
  StepConfig down;
  StepPasses passes = StepPasses::Forward;  // of the layer; those of the projections may be more
  kernels::Activation activation = kernels::kSwiglu;
  bool fused = true;
  bool recompute = false;
  int top_k = 0;  // 0 = the step begins and ends at rows
  /// Of that top_k, for create().
  std::shared_ptr<const TokenRouting> tokens = nullptr;

  /// Fills in how the projections are connected, and what they are called. Once is enough.
  void connect();
  bool forward() const { return passes != StepPasses::Backward; }
  bool backward() const { return passes != StepPasses::Forward; }
};

/// The layer as a request, as far as its program follows from it. `in_flight`: micro-batches.
RunRequest request_of(const ExpertLayerConfig& config, int in_flight = 1);

class ExpertLayerStep final : public DeviceStep {
 public:
  struct Operands {
    StepOperands up;    // X, or Xt [tokens, k]; Wup, biases; no gradients
    StepOperands down;  // Wdown; dY, or dYt [tokens, k]; biases; no activations
  };
  /// Synchronises the stream. `first`: the micro-batch whose quantized weights, and dW where that
  /// is accumulated, this one shares; must outlive it. Null = none.
  static Result<std::unique_ptr<ExpertLayerStep>> create(std::shared_ptr<const CublasLt> library,
                                                         ExpertLayerConfig config,
                                                         Operands operands, cudaStream_t stream,
                                                         const ExpertLayerStep* first = nullptr);

  Status write_step(std::span<const std::int64_t> splits, std::size_t step,
                    cudaStream_t stream) override;
  Status enqueue_splits(const void* splits, cudaStream_t stream) override;
  Status route(std::span<const std::int64_t> splits, std::size_t step,
               cudaStream_t stream) override;
  Status keep_weights(bool keep, cudaStream_t stream) const override;
  Status prepare(cudaStream_t stream, StepObserver& observer) const override;
  Status launch(cudaStream_t stream, StepObserver& observer) const override;
  Result<std::vector<ProductTrial>> try_candidates(cudaStream_t stream) override;
  /// The same with operands that both passes put into one memory: each pass is launched before its
  /// products are tried. Of a step with both.
  Result<std::vector<ProductTrial>> try_candidates_by_pass(cudaStream_t stream);
  Status check_splits(cudaStream_t stream) const override;
  /// Of the up projection H, dX and dWup; of the down projection Y, dA and dWdown.
  std::vector<StepOutput> all_outputs() const override;
  /// Of these what a caller reads: without H and dA, whose memory may be that of other graphs too.
  std::vector<StepOutput> caller_outputs() const;
  int num_groups() const override { return config_.up.num_groups; }

  /// The two halves of a launch, to be captured apart.
  Status launch_forward(cudaStream_t stream, StepObserver& observer) const;
  Status launch_backward(cudaStream_t stream, StepObserver& observer) const;

  const ExpertLayerConfig& config() const { return config_; }
  const GroupedStep& up() const { return *up_; }
  const GroupedStep& down() const { return *down_; }
  GroupedStep& up() { return *up_; }
  /// Null where the step begins at rows.
  const TokenPermutation* tokens() const { return tokens_ ? &*tokens_ : nullptr; }
  /// Whether launches permute and un-permute, as they do unless told otherwise. Without, a launch
  /// computes from the rows of X and dY that the last one with it made.
  void permute_tokens(bool permutes) { permutes_ = permutes; }
  const void* x_tokens() const { return x_tokens_; }    // Xt
  const void* dy_tokens() const { return dy_tokens_; }  // dYt
  /// What the activation of a layer reads and makes, with device pointers: A or, with dA, dH.
  kernels::GroupedInput activation_input(int layer) const;
  kernels::GroupedInput gradient_input(int layer) const;

  /// Device bytes that create() allocates, operands not counted.
  static std::int64_t bytes(const ExpertLayerConfig& config);

 private:
  ExpertLayerStep() = default;
  /// One of the layer's own tensors: where its layers have theirs.
  struct OwnTensor {
    DeviceBuffer memory;
    std::int64_t stride_bytes = 0;  // from one layer to the next; 0 = all use the same memory
    std::byte* of(int layer) const { return memory.data() + layer * stride_bytes; }
  };
  /// Memory as the program needs it; empty where no operation writes the tensor.
  Status make(OwnTensor& own, LayerTensor tensor, cudaStream_t stream);
  /// An operation of the layer, or of one of its projections.
  Status run(const Operation& operation, cudaStream_t stream, StepObserver& observer) const;
  Status run(ProgramPass pass, cudaStream_t stream, StepObserver& observer) const;
  Status take_tokens(Operands& operands, cudaStream_t stream);
  Status activate(int layer, cudaStream_t stream, StepObserver& observer) const;
  Status activate_gradient(int layer, cudaStream_t stream, StepObserver& observer) const;

  ExpertLayerConfig config_;
  StepProgram program_;
  int micro_batch_ = 0;  // that this one is to the program: the first, or one after it
  // [places_of() the program, capacity_rows, columns], in high precision
  OwnTensor h_, a_, da_, dh_;
  std::optional<TokenPermutation> tokens_;
  bool permutes_ = true;
  const void* x_tokens_ = nullptr;
  const void* dy_tokens_ = nullptr;
  std::optional<GroupedStep> up_;
  std::optional<GroupedStep> down_;
};

}  // namespace engine
