// The grouped step as the CPU runs it: experts one after another, each stage on all cores, so that
// a span's time belongs to that expert alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/operand_stage.h"
#include "engine/input/operand_store.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"

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
class CpuStep {
 public:
  struct Setup {
    const RunRequest& request;  // effective settings
    const GroupedShape& shape;
    LoadedOperands& operands;
    StepBuffers& buffers;
    RunContext context;
    /// One per layer, from take_outputs(); empty = all outputs are in the buffers.
    std::vector<LayerOutputs> outputs = {};
  };
  /// An accumulating dW starts as zeros.
  explicit CpuStep(const Setup& setup);

  /// For a backward-only step, quantizes what it reads of the preceding forward step; otherwise
  /// does nothing.
  Status prepare();
  /// All passes, layers and experts once. Cancelled on request.
  Status run(int iteration);

  /// One expert of one layer: quantize both operands, then Y.
  void forward(int layer, int expert, bool quantize_weights);
  /// dY's codes, db and dX. After forward() or prepare().
  void backward(int layer, int expert);
  /// dW; after backward().
  void weight_gradient(int layer, int expert);
  /// All passes of one expert of layer 0, its dW starting from zeros.
  void run_expert(int expert);

  /// Elements of an expert's operand; streamed ones are read here.
  ExpertElements elements(OperandRole role, int layer, int expert);
  ExpertElements activations(int expert) { return elements(OperandRole::Activations, 0, expert); }
  ExpertElements weights(int layer, int expert) {
    return elements(OperandRole::Weights, layer, expert);
  }

  /// Y [rows, n] and dX [rows, k] of an expert, in high precision: the caller's, or a buffer that
  /// the next expert overwrites.
  std::uint16_t* output_of(int layer, int expert);
  std::uint16_t* input_gradient_of(int layer, int expert);
  /// db [experts, n] in high precision, of every layer.
  std::uint16_t* bias_gradient();
  /// dW [n, k] of linear.wgrad_type.
  std::byte* weight_gradient_of(int layer, int expert);
  void clear_weight_gradient(int layer, int expert);
  /// Adds an expert's b to values [rows, n], rounded to their type. Only with linear.bias.
  void add_bias(int layer, int expert, std::int64_t rows, ElementType type, void* values) const;
  OperandStage& stage(OperandRole role, kernels::Direction direction);

  /// Nanoseconds spent reading operands so far: not part of the step.
  std::int64_t reading_ns() const { return reading_ns_; }
  const RunRequest& request() const { return setup_.request; }
  const GroupedShape& shape() const { return setup_.shape; }
  LoadedOperands& operands() { return setup_.operands; }
  StepBuffers& buffers() { return setup_.buffers; }
  RunContext& context() { return setup_.context; }
  bool runs_forward() const { return setup_.request.linear.passes != StepPasses::Backward; }
  bool runs_backward() const { return setup_.request.linear.passes != StepPasses::Forward; }
  std::int64_t first_row(int expert) const {
    return row_offsets_[static_cast<std::size_t>(expert)];
  }
  std::int64_t rows(int expert) const {
    return setup_.shape.splits[static_cast<std::size_t>(expert)];
  }

  /// Updates the progress shown by the pulse; false when cancelled.
  bool advance(int expert, double units);
  bool is_cancelled() const;
  void expect(double units) { total_units_ = units; }
  /// The share of the run that is done, in place of the units; null = by the units again.
  void measure_progress_by(std::function<double()> share) { share_ = std::move(share); }
  /// Progress units of one iteration.
  double units() const;

 private:
  void configure(OperandRole role, kernels::Direction direction);
  void quantize(OperandRole role, kernels::Direction direction, const ExpertElements& elements,
                int layer);
  void quantize_saved(int layer, int expert, bool quantize_weights);
  const float* widen(OperandRole role, kernels::Direction direction, int layer, int expert);
  void reduce_bias(int layer, int expert, const ExpertElements& dy);
  std::int64_t weight_gradient_bytes() const;
  LayerOutputs outputs_of(int layer) const {
    return setup_.outputs.empty() ? LayerOutputs{}
                                  : setup_.outputs[static_cast<std::size_t>(layer)];
  }

  Setup setup_;
  std::vector<std::int64_t> row_offsets_;           // [experts + 1]
  std::vector<std::vector<std::uint16_t>> biases_;  // [layers][experts * n], high precision
  std::int64_t reading_ns_ = 0;
  double done_units_ = 0.0;
  double total_units_ = 1.0;
  std::function<double()> share_;
};

/// The caller's host tensors for the outputs of this request, checked (take_outputs()).
Result<std::vector<LayerOutputs>> take_cpu_outputs(const RunRequest& request,
                                                   const GroupedShape& shape,
                                                   const std::vector<CallerOutputs>& outputs);

Error cancelled();

// The numerics of layer 0, measured once per run outside the timed iterations: the effect of
// quantization on each operand, and each expert's product against that of unquantized operands.

/// Fills result.activations, .weights and .experts. Counts kStatisticsUnits of progress per expert.
Status measure_statistics(CpuStep& step, RunResult& result);

inline constexpr double kStatisticsUnits = 3.0;  // an expert's statistics in units of its step

}  // namespace engine
