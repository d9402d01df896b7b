// A whole expert layer on the device: the executor of its program (engine/program/step_program.h)
// over two grouped linear steps, the activation between them, fused into their quantize kernels
// where the recipe's can, and the permutation of tokens. launch() only enqueues, as GroupedStep's
// does.
#pragma once

#include <functional>
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

/// The effective request of a layer, and its projections as the linear steps that they are.
struct ExpertLayerConfig {
  /// Both projections come from requests made by projection_of().
  ExpertLayerConfig(RunRequest layer, StepConfig up_projection, StepConfig down_projection);

  RunRequest request;
  StepConfig up;    // may have more passes than the layer
  StepConfig down;  // may have more passes than the layer
  /// Token routing with the request's top_k, for create().
  std::shared_ptr<const TokenRouting> tokens = nullptr;

  kernels::Activation activation() const;
  bool begins_at_tokens() const { return request.expert_layer.top_k > 0; }
  bool forward() const { return request.products.passes != StepPasses::Backward; }
  bool backward() const { return request.products.passes != StepPasses::Forward; }
};

class ExpertLayerStep final : public DeviceStep {
 public:
  struct Operands {
    StepOperands up;    // X, or Xt [tokens, k]; Wup, biases; no gradients
    StepOperands down;  // Wdown; dY, or dYt [tokens, k]; biases; no activations
  };
  /// One of several micro-batches: the program of all of them, and the first one. The rest share
  /// its quantized weights, and its dW if that is accumulated, so it must outlive them.
  struct Part {
    std::shared_ptr<const StepProgram> program;
    int micro_batch = 0;
    const ExpertLayerStep* first = nullptr;
  };
  /// Synchronises the stream.
  static Result<std::unique_ptr<ExpertLayerStep>> create(std::shared_ptr<const CublasLt> library,
                                                         ExpertLayerConfig config,
                                                         Operands operands, cudaStream_t stream);
  static Result<std::unique_ptr<ExpertLayerStep>> create(std::shared_ptr<const CublasLt> library,
                                                         ExpertLayerConfig config, Part part,
                                                         Operands operands, cudaStream_t stream);

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
  /// H, dX and dWup of the up projection; Y, dA and dWdown of the down projection.
  std::vector<StepOutput> all_outputs() const override;
  /// The outputs that a caller reads: all but H and dA, whose memory other graphs may use too.
  std::vector<StepOutput> caller_outputs() const;
  int num_groups() const override { return config_.up.num_groups(); }

  /// One of the program's parts of this micro-batch.
  Status launch_part(const ProgramPart& part, cudaStream_t stream, StepObserver& observer) const;
  /// Those of one pass, to be captured on its own.
  Status launch_pass(ProgramPass pass, cudaStream_t stream, StepObserver& observer) const;

  const ExpertLayerConfig& config() const { return config_; }
  const StepProgram& program() const { return *program_; }
  const GroupedStep& up() const { return *up_; }
  const GroupedStep& down() const { return *down_; }
  GroupedStep& up() { return *up_; }
  /// Null where the step begins at rows.
  const TokenPermutation* tokens() const { return tokens_ ? &*tokens_ : nullptr; }
  /// Whether launches permute and unpermute; on by default. Without, a launch
  /// computes from the rows of X and dY that the last one with it made.
  void permute_tokens(bool permutes) { permutes_ = permutes; }
  const void* x_tokens() const { return x_tokens_; }    // Xt
  const void* dy_tokens() const { return dy_tokens_; }  // dYt
  /// What the activation of a layer reads and makes, with device pointers: A or, with dA, dH.
  kernels::GroupedInput activation_input(int layer) const;
  kernels::GroupedInput gradient_input(int layer) const;

  /// Where the rows of a tensor are.
  using RowsAt = std::function<void*(StepTensor)>;
  /// An operation between the products (OperationTraits::by_row), on rows in high precision.
  Status compute_rows(const Operation& operation, const RowsAt& at,
                      kernels::LaunchStream stream) const;
  /// The step's own: of H, A, dA and dH.
  std::byte* rows_of(StepTensor tensor, int layer) const;

  /// Device bytes that create() allocates, operands not counted.
  static std::int64_t bytes(const ExpertLayerConfig& config);
  static std::int64_t bytes(const ExpertLayerConfig& config, const Part& part);

 private:
  explicit ExpertLayerStep(ExpertLayerConfig config) : config_(std::move(config)) {}
  struct Outputs {
    std::vector<CallerOutputs> up, down;
  };
  Outputs connect(Operands& operands, const ExpertLayerStep* first) const;
  /// One of the layer's own tensors: where its layers have theirs.
  struct OwnTensor {
    DeviceBuffer memory;
    std::int64_t stride_bytes = 0;  // from one layer to the next; 0 = all use the same memory
    std::byte* of(int layer) const { return memory.data() + layer * stride_bytes; }
  };
  /// Memory as the program needs it; empty where no operation writes the tensor.
  Status make(OwnTensor& own, StepTensor tensor, cudaStream_t stream);
  /// An operation of the layer, or of one of its projections.
  Status run(const Operation& operation, cudaStream_t stream, StepObserver& observer) const;
  /// The parts of this micro-batch.
  std::vector<const ProgramPart*> parts() const;
  Status take_tokens(Operands& operands, cudaStream_t stream);
  Status compute_rows(const Operation& operation, cudaStream_t stream,
                      StepObserver& observer) const;
  Status activate(const Operation& operation, const RowsAt& at, kernels::LaunchStream stream) const;

  ExpertLayerConfig config_;
  std::shared_ptr<const StepProgram> program_;
  int micro_batch_ = 0;
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
