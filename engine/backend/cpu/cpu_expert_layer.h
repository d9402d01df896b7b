// A whole expert layer as the CPU runs it: two linear layers, and the activation between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/backend/cpu/cpu_projection.h"
#include "engine/backend/cpu/layer_tensors.h"
#include "engine/backend/cpu/program_step.h"
#include "engine/backend/cpu/token_rows.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"

namespace engine {

/// Kept between runs, as StepBuffers are. A linear step uses `up` alone.
struct LayerBuffers {
  StepBuffers up;
  StepBuffers down;
  TensorBuffers tensors;
  TokenBuffers tokens;  // where the step begins at tokens
};

/// Where rows of one expert are: the step's own, or those of a reference.
struct ExpertRows {
  ElementType type = ElementType::Bf16;
  std::function<void*(StepTensor)> at;
};

class CpuExpertLayer final : public ProgramStep {
 public:
  struct Setup {
    const RunRequest& request;  // effective settings
    const GroupedShape& shape;  // of the up projection, with the splits of the first iteration
    LoadedOperands& up;         // X and Wup
    LoadedOperands& down;       // Wdown and dY
    LayerBuffers& buffers;
    RunContext context;
    StepProgress& progress;
    /// resolve_token_routing() of the request; X and dY are then [tokens, k].
    std::shared_ptr<const TokenRouting> token_routing = nullptr;
  };
  explicit CpuExpertLayer(const Setup& setup);
  // The projections refer to members.
  CpuExpertLayer(const CpuExpertLayer&) = delete;
  CpuExpertLayer& operator=(const CpuExpertLayer&) = delete;

  void set_splits(const std::vector<std::int64_t>& splits, std::size_t step) override;
  Status measure_statistics(RunResult& result) override;
  Result<OutputErrors> measure_errors() override;
  std::int64_t reading_ns() const override { return up_.reading_ns() + down_.reading_ns(); }

  /// All passes of one expert of layer 0, its weight gradients starting from zeros. The rows of
  /// tokens are there, from begin_experts().
  void run_expert(int expert);
  /// Before and after run_expert() of every expert: what is done to tokens.
  void begin_experts();
  void end_experts();

  CpuProjection& up() { return up_; }
  CpuProjection& down() { return down_; }
  const RunRequest& request() const { return setup_.request; }
  const RunRequest& projection(Projection which) const {
    return which == Projection::Up ? up_request_ : down_request_;
  }
  const GroupedShape& shape() const { return shape_; }
  RunContext& context() { return setup_.context; }
  StepProgress& progress() { return setup_.progress; }
  bool runs_forward() const { return setup_.request.products.passes != StepPasses::Backward; }
  bool runs_backward() const { return setup_.request.products.passes != StepPasses::Forward; }
  kernels::Activation activation() const {
    return traits_of(setup_.request.expert_layer.activation).formula;
  }
  std::int64_t activated_columns() const { return down_shape_.k; }
  /// An operation between the products (OperationTraits::by_row), on these rows of the expert.
  void compute_rows(const Operation& operation, int expert, const ExpertRows& rows) const;
  /// Elements of an expert of layer 0 after run_expert(), or of all tokens after end_experts().
  /// Null for a tensor that the step does not make.
  const void* values_of(StepTensor tensor, int expert);
  const LayerTensors& tensors() const { return tensors_; }
  /// Null where the step begins at rows.
  const TokenRows* tokens() const { return tokens_ ? &*tokens_ : nullptr; }
  /// Whether steps permute and unpermute; on by default. Without, a step
  /// computes from the rows of X and dY that the last one with it made.
  void permute_tokens(bool permutes) { permutes_ = permutes; }

 private:
  int num_experts() const override { return shape_.num_experts(); }
  void run_operation(const Operation& operation, int expert) override;
  void run_for_all_experts(const Operation& operation) override;
  std::vector<OperandInput> activated_inputs() const;
  /// X and dY, where the layer makes them of tokens.
  std::vector<OperandInput> token_activations() const;
  std::vector<OperandInput> token_gradients() const;
  std::vector<OperandInput> inner_gradient_inputs() const;
  std::vector<LayerOutputs> outputs(Projection which) const;
  void activate(const Operation& operation, int expert, const ExpertRows& rows) const;

  Setup setup_;
  OperationNames names_{StepKind::ExpertLayer};
  RunRequest up_request_;
  RunRequest down_request_;
  GroupedShape shape_;
  GroupedShape down_shape_;
  LayerTensors tensors_;
  std::optional<TokenRows> tokens_;
  bool permutes_ = true;
  // After what they refer to.
  CpuProjection up_;
  CpuProjection down_;
};

/// The step of a request: an expert layer, or a linear step. `operands`: one for each of
/// step_parts(). Everything outlives the step.
struct HostStepSetup {
  const RunRequest& request;  // effective settings
  const GroupedShape& shape;
  std::vector<LoadedOperands>& operands;
  LayerBuffers& buffers;
  RunContext context;
  StepProgress& progress;
  std::shared_ptr<const TokenRouting> token_routing = nullptr;  // as CpuExpertLayer::Setup's
};
std::unique_ptr<HostStep> make_host_step(const HostStepSetup& setup);

}  // namespace engine
