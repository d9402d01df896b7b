// The grouped step as the CPU runs it: experts one after the other, each stage of each on all
// cores, so that a span's time is that expert's alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/buffer.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/operand_stage.h"

namespace engine {

/// Memory of one expert's work, reused by every expert and kept between runs.
struct StepBuffers {
  OperandStage activations;
  OperandStage weights;
  Buffer<std::uint16_t> product;  // [rows, n] BF16 of the last expert
};

class CpuStep {
 public:
  struct Setup {
    const RunRequest& request;  // effective settings
    const GroupedShape& shape;
    LoadedOperands& operands;
    StepBuffers& buffers;
    RunContext context;
  };
  explicit CpuStep(const Setup& setup);

  /// All layers and experts once. Cancelled when asked to stop.
  Status run();

  /// One expert of one layer: quantize both operands, then the product into buffers().product.
  void run_expert(int layer, int expert);

  /// Elements of both operands of an expert; streamed ones are read here.
  ExpertElements activations(int expert);
  ExpertElements weights(int layer, int expert);

  /// Nanoseconds spent reading operands so far: no part of the step.
  std::int64_t reading_ns() const { return reading_ns_; }
  const GroupedShape& shape() const { return setup_.shape; }
  LoadedOperands& operands() { return setup_.operands; }
  StepBuffers& buffers() { return setup_.buffers; }
  RunContext& context() { return setup_.context; }
  std::int64_t first_row(int expert) const {
    return row_offsets_[static_cast<std::size_t>(expert)];
  }

  /// Tells the pulse where the run is; false when it was cancelled.
  bool advance(int expert, double units);
  bool is_cancelled() const;
  void expect(double units) { total_units_ = units; }

 private:
  void quantize(OperandStage& stage, const ExpertElements& elements, int layer);

  Setup setup_;
  std::vector<std::int64_t> row_offsets_;  // [experts + 1]
  std::int64_t reading_ns_ = 0;
  double done_units_ = 0.0;
  double total_units_ = 1.0;
};

/// A span of host work from construction to destruction, attributed to its tag.
class HostSpan {
 public:
  HostSpan(RunContext& context, const WorkTag& tag, const char* name);
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;
  ~HostSpan();

 private:
  RunContext& context_;
  WorkTag tag_;
  const char* name_;
  std::int64_t start_ns_;
};

std::int64_t steady_ns();

Error cancelled();

}  // namespace engine
