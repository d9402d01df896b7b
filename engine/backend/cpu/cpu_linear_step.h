// A grouped linear step as the CPU runs it: one projection, and the program of its operations.
#pragma once

#include <vector>

#include "engine/backend/cpu/cpu_projection.h"
#include "engine/backend/cpu/program_step.h"

namespace engine {

class CpuLinearStep final : public ProgramStep {
 public:
  explicit CpuLinearStep(const CpuProjection::Setup& setup, StepProgress& progress);

  void set_splits(const std::vector<std::int64_t>& splits, std::size_t step) override;
  Status measure_statistics(RunResult& result) override;
  Result<OutputErrors> measure_errors() override;
  std::int64_t reading_ns() const override { return projection_.reading_ns(); }

  /// All passes of one expert of layer 0, its dW starting from zeros.
  void run_expert(int expert);
  CpuProjection& projection() { return projection_; }

 private:
  int num_experts() const override { return projection_.shape().num_experts(); }
  void run_operation(const Operation& operation, int expert) override {
    projection_.run_operation(operation, expert);
  }

  StepProgress& progress_;
  CpuProjection projection_;
};

}  // namespace engine
