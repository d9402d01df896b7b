#include "engine/backend/cpu/program_step.h"

#include <cstddef>
#include <utility>

#include "engine/model/projections.h"

namespace engine {
namespace {

/// Calls run(operations of all experts together) and run_by_expert(consecutive operations of one
/// layer that experts run independently). Both return false to stop.
template <class Run, class RunByExpert>
bool in_blocks(std::span<const Operation> operations, Run run, RunByExpert run_by_expert) {
  for (std::size_t i = 0; i < operations.size();) {
    if (!operations[i].traits().by_expert) {
      if (!run(operations[i++])) return false;
      continue;
    }
    std::size_t end = i;
    while (end < operations.size() && operations[end].traits().by_expert &&
           operations[end].layer == operations[i].layer) {
      ++end;
    }
    if (!run_by_expert(operations.subspan(i, end - i))) return false;
    i = end;
  }
  return true;
}

bool makes_weights(const Operation& operation) {
  return operation.traits().stage == Stage::Quantize && operation.role == OperandRole::Weights;
}

}  // namespace

ProgramStep::ProgramStep(StepProgram program, StepProgress& progress)
    : program_(std::move(program)), progress_(progress) {
  if (is_expert_layer(program_.request)) units_of_product_ = 0.5;
}

double ProgramStep::units() const {
  double products = 0.0;
  for (const ProgramPart& part : program_.parts) {
    for (const Operation& operation : part.operations) {
      if (operation.traits().product) products += 1.0;
    }
  }
  return products * units_of_product_ * num_experts();
}

bool ProgramStep::run_expert_by_expert(std::span<const Operation> operations, WeightCast weights) {
  for (int expert = 0; expert < num_experts(); ++expert) {
    if (!progress_.advance(expert, 0.0)) return false;
    for (const Operation& operation : operations) {
      if (weights == WeightCast::Keep && makes_weights(operation)) continue;
      if (operation.traits().product && !progress_.advance(expert, units_of_product_)) return false;
      run_operation(operation, expert);
    }
  }
  return true;
}

bool ProgramStep::run_operations(std::span<const Operation> operations, WeightCast weights) {
  return in_blocks(
      operations,
      [&](const Operation& operation) {
        run_for_all_experts(operation);
        return !progress_.is_cancelled();
      },
      [&](std::span<const Operation> block) { return run_expert_by_expert(block, weights); });
}

bool ProgramStep::prepare_experts(std::span<const Operation> operations) {
  for (int expert = 0; expert < num_experts(); ++expert) {
    if (!progress_.advance(expert, 0.0)) return false;
    for (int time = 0; time < program_.prepare_times; ++time) {
      for (const Operation& operation : operations) run_operation(operation, expert);
    }
  }
  return true;
}

Status ProgramStep::prepare() {
  const bool done = in_blocks(
      program_.prepare,
      [&](const Operation& operation) {
        run_for_all_experts(operation);
        return true;
      },
      [&](std::span<const Operation> block) { return prepare_experts(block); });
  if (!done) return cancelled();
  return {};
}

Status ProgramStep::run_pass(ProgramPass pass, WeightCast weights) {
  for (const ProgramPart& part : program_.parts) {
    if (part.pass == pass && !run_operations(part.operations, weights)) return cancelled();
  }
  return {};
}

Status ProgramStep::run(WeightCast weights) {
  ENGINE_TRY(run_pass(ProgramPass::Forward, weights));
  ENGINE_TRY(run_pass(ProgramPass::Backward, weights));
  // A cancelled product must not be taken for a result.
  if (progress_.is_cancelled()) return cancelled();
  return {};
}

void ProgramStep::run_first_layer(int expert) {
  const auto run = [&](const Operation& operation) {
    if (operation.layer == 0 && operation.traits().by_expert) run_operation(operation, expert);
  };
  for (const Operation& operation : program_.prepare) {
    // Backward computes these again itself.
    if (!operation.again) run(operation);
  }
  for (const ProgramPart& part : program_.parts) {
    for (const Operation& operation : part.operations) run(operation);
  }
}

void ProgramStep::run_first_layer_together() {
  for (const ProgramPart& part : program_.parts) {
    for (const Operation& operation : part.operations) {
      // Every layer's rows come from one permutation, before the first expert runs.
      const bool before = operation.kind == OperationKind::Permute;
      if (operation.layer == 0 && !operation.traits().by_expert && !before) {
        run_for_all_experts(operation);
      }
    }
  }
}

}  // namespace engine
