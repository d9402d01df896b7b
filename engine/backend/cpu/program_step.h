// The host's executor: runs a step's program, experts one after another where they are independent
// of each other. What an operation does is in cpu_projection.h, cpu_expert_layer.h and
// token_rows.h.
#pragma once

#include <span>

#include "engine/backend/cpu/host_step.h"
#include "engine/program/step_program.h"

namespace engine {

class ProgramStep : public HostStep {
 public:
  Status prepare() override;
  Status run(WeightCast weights) override;
  /// One pass of run().
  Status run_pass(ProgramPass pass, WeightCast weights);
  /// One per grouped product and expert, shared by the projections of a layer.
  double units() const override;

  const StepProgram& program() const { return program_; }

 protected:
  ProgramStep(StepProgram program, StepProgress& progress);

  virtual int num_experts() const = 0;
  /// OperationTraits::by_expert.
  virtual void run_operation(const Operation& operation, int expert) = 0;
  /// The others; a linear step has none.
  virtual void run_for_all_experts(const Operation& /*operation*/) {}
  /// All passes of one expert of layer 0, as run() would, without what is done to tokens.
  void run_first_layer(int expert);
  /// Then what follows for all experts of layer 0 together.
  void run_first_layer_together();

 private:
  /// False when cancelled.
  bool run_operations(std::span<const Operation> operations, WeightCast weights);
  bool prepare_experts(std::span<const Operation> operations);
  bool run_expert_by_expert(std::span<const Operation> operations, WeightCast weights);

  StepProgram program_;
  StepProgress& progress_;
  double units_of_product_ = 1.0;
};

}  // namespace engine
