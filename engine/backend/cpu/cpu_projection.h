// The operations of one grouped product and its gradients as the CPU runs them: an expert at a
// time, each stage on all cores, so that a span's time belongs to that expert alone. A linear step
// has one such projection, an expert layer two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/operand_stage.h"
#include "engine/input/operand_store.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/projections.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"
#include "engine/program/operation_words.h"
#include "engine/program/operations.h"

namespace engine {

/// Memory of one expert's work, reused by every expert and kept between runs.
struct StepBuffers {
  std::array<OperandStage, 3> rowwise;     // by OperandRole
  std::array<OperandStage, 3> columnwise;  // of a backward pass that quantizes
  Buffer<std::uint16_t> product;           // Y [rows, n] of the last expert, high precision
  Buffer<std::uint16_t> input_gradient;    // dX [rows, k] of the last expert, high precision
  Buffer<std::byte> weight_gradient;       // dW [n, k] of the last expert, or of all layers and
                                           // experts when it accumulates
  Buffer<float> bias_partials;
  Buffer<std::uint16_t> bias_gradient;  // db [experts, n] of the last layer, high precision
};

/// Columnwise codes are a separate quantization. Without quantization both directions have the same
/// elements. Weights as a list need nothing special: each expert's are quantized and multiplied
/// separately anyway.
class CpuProjection {
 public:
  struct Setup {
    const RunRequest& request;  // effective settings
    const GroupedShape& shape;  // with the splits of the first iteration
    LoadedOperands& operands;
    StepBuffers& buffers;
    RunContext context;
    /// One per layer, from take_outputs(); empty = all outputs are in the buffers.
    std::vector<LayerOutputs> outputs = {};
    /// One per layer, in place of loaded operands; empty = they are loaded.
    std::vector<OperandInput> activations = {};
    std::vector<OperandInput> gradients = {};
    StepKind step = StepKind::Linear;  // that it is a projection of
    Projection projection = Projection::Up;
  };
  /// An accumulating dW starts as zeros.
  explicit CpuProjection(const Setup& setup);

  void set_splits(const std::vector<std::int64_t>& splits);
  /// One expert of an operation of this projection: of the operands, products and biases.
  void run_operation(const Operation& operation, int expert);
  /// An operand's copy, whatever the step's program makes of it.
  void quantize(OperandRole role, kernels::Direction direction, int layer, int expert);

  /// Elements of an expert's operand; streamed ones are read here.
  ExpertElements elements(OperandRole role, int layer, int expert);
  ExpertElements activations(int expert) { return elements(OperandRole::Activations, 0, expert); }
  ExpertElements weights(int layer, int expert) {
    return elements(OperandRole::Weights, layer, expert);
  }

  /// An expert's operand as its products read it, FP32; codes and rounded elements are decoded
  /// where they are, without reading the operand again.
  const float* widen(OperandRole role, kernels::Direction direction, int layer, int expert);

  /// Y [rows, n] and dX [rows, k] of an expert, in high precision: the caller's, or a buffer that
  /// the next expert overwrites.
  std::uint16_t* output_of(int layer, int expert);
  std::uint16_t* input_gradient_of(int layer, int expert);
  /// db [experts, n] in high precision, of every layer.
  std::uint16_t* bias_gradient();
  /// dW [n, k] of products.wgrad_type.
  std::byte* weight_gradient_of(int layer, int expert);
  void clear_weight_gradient(int layer, int expert);
  /// Adds an expert's b to values [rows, n], rounded to their type. Only with products.bias.
  void add_bias(int layer, int expert, std::int64_t rows, ElementType type, void* values) const;
  OperandStage& stage(OperandRole role, kernels::Direction direction);

  std::int64_t reading_ns() const { return reading_ns_; }
  const RunRequest& request() const { return setup_.request; }
  const GroupedShape& shape() const { return shape_; }
  LoadedOperands& operands() { return setup_.operands; }
  StepBuffers& buffers() { return setup_.buffers; }
  RunContext& context() { return setup_.context; }
  bool runs_forward() const { return setup_.request.products.passes != StepPasses::Backward; }
  bool runs_backward() const { return setup_.request.products.passes != StepPasses::Forward; }
  std::int64_t first_row(int expert) const {
    return row_offsets_[static_cast<std::size_t>(expert)];
  }
  std::int64_t rows(int expert) const { return shape_.splits[static_cast<std::size_t>(expert)]; }

  bool is_cancelled() const {
    return setup_.context.progress.cancel.load(std::memory_order_relaxed);
  }

 private:
  void find_rows();
  void configure(OperandRole role, kernels::Direction direction);
  void quantize(OperandRole role, kernels::Direction direction, const ExpertElements& elements,
                int layer);
  void quantize(const Operation& operation, int expert);
  void fprop(const Operation& operation, int expert);
  void dgrad(const Operation& operation, int expert);
  void wgrad(const Operation& operation, int expert);
  void add_bias(const Operation& operation, int expert);
  void reduce_bias(const Operation& operation, int expert);
  std::int64_t weight_gradient_bytes() const;
  WorkTag tag(Stage stage, WrittenValue writes, int layer, int expert) const {
    const bool linear = setup_.step == StepKind::Linear;
    return {.stage = stage,
            .layer = linear ? layer : 2 * layer + static_cast<int>(setup_.projection),
            .expert = expert,
            .writes = writes};
  }
  HostSpan span(Stage stage, WrittenValue writes, int layer, int expert) {
    return {setup_.context, tag(stage, writes, layer, expert), names_.of(stage, writes).c_str()};
  }
  /// Of an operation on one expert.
  HostSpan span(const Operation& operation, int expert) {
    return span(operation.traits().stage, written_by(operation), operation.layer, expert);
  }
  HostSpan product_span(const Operation& product, int expert);
  const std::vector<OperandInput>& inputs(OperandRole role) const;
  LayerOutputs outputs_of(int layer) const {
    return setup_.outputs.empty() ? LayerOutputs{}
                                  : setup_.outputs[static_cast<std::size_t>(layer)];
  }

  Setup setup_;
  GroupedShape shape_;
  ProjectionTensors tensors_;
  OperationNames names_;
  std::vector<std::int64_t> row_offsets_;           // [experts + 1]
  std::vector<std::vector<std::uint16_t>> biases_;  // [layers][experts * n], high precision
  std::int64_t reading_ns_ = 0;
};

/// The caller's host tensors for the outputs of this request, checked (take_outputs()).
Result<std::vector<LayerOutputs>> take_cpu_outputs(const RunRequest& request,
                                                   const GroupedShape& shape,
                                                   const std::vector<CallerOutputs>& outputs);

}  // namespace engine
