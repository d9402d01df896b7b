// The numerics of layer 0, tensor by tensor: against the lossless layer, against the operand itself
// before it was quantized, and of Y with one operand left unquantized at a time.
#include <algorithm>
#include <array>
#include <vector>

#include "engine/backend/cpu/cpu_expert_layer.h"
#include "engine/backend/cpu/expert_layer_reference.h"
#include "engine/backend/cpu/operand_counts.h"
#include "engine/backend/cpu/unquantized_layer.h"
#include "engine/input/element_rounding.h"
#include "engine/program/error_sources.h"
#include "engine/program/tensor_results.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

using kernels::Direction;
using kernels::GroupProductError;

constexpr std::size_t kTensors = kStepTensors.size();

/// The layer's operands, in the order in which the folds are kept.
constexpr std::array kOperands = {StepTensor::X,     StepTensor::WUp, StepTensor::A,
                                  StepTensor::WDown, StepTensor::DY,  StepTensor::DH};
constexpr std::size_t index_of(StepTensor operand) {
  return static_cast<std::size_t>(std::ranges::find(kOperands, operand) - kOperands.begin());
}
TensorOperand layer_operand(StepTensor tensor) {
  return *engine::operand_of(StepKind::ExpertLayer, tensor);
}

/// Adds the error of an expert's tensor.
void compare_with(const ExpertLayerReference& reference, StepTensor tensor, const void* value,
                  ElementType type, GroupProductError& error) {
  const std::int64_t offsets[2] = {0, reference.rows(tensor)};
  if (offsets[1] == 0) return;
  kernels::product_error_cpu({.product = value,
                              .product_type = type,
                              .reference = reference.of(tensor),
                              .row_offsets = offsets,
                              .num_groups = 1,
                              .capacity_rows = offsets[1],
                              .columns = reference.columns(tensor),
                              .errors = &error});
}

class Statistics {
 public:
  explicit Statistics(CpuExpertLayer& layer)
      : layer_(layer),
        reference_(layer),
        plain_(layer, StepPasses::Forward, layer.request().recipe.high_precision) {
    for (const StepTensor operand : kOperands) {
      if (!exists(operand)) continue;
      folds_[index_of(operand)].counts = zero_counts(rowwise(operand).scales());
    }
    sources_ = error_sources(layer_.program());
    source_errors_.resize(sources_.size());
    trial_plan_ = rowwise(StepTensor::A).plan();
    trial_plan_.layers = 1;
    trial_plan_.keep_codes = false;
  }

  /// After run_expert(): that expert's part.
  ExpertResult add_expert(int expert) {
    reference_.compute(expert);
    std::array<GroupProductError, kTensors> errors{};
    add_operands(expert, errors);
    const auto add = [&](StepTensor tensor, const void* values, ElementType type) {
      compare(tensor, values, type, errors);
    };
    for_each_made(/*tokens=*/false, expert, add);
    if (layer_.runs_forward()) add_sources(expert);

    const auto error = [&](StepTensor tensor) {
      return product_accuracy(errors[static_cast<std::size_t>(tensor)]);
    };
    ExpertResult row =
        expert_result(layer_.up().rows(expert),
                      folds_[index_of(StepTensor::X)].counts.sums[static_cast<std::size_t>(expert)],
                      rowwise(StepTensor::X).plan().quantized());
    row.fprop = error(StepTensor::Y);
    row.dgrad = error(StepTensor::DX);
    row.wgrad = error(StepTensor::DWUp);
    for (std::size_t i = 0; i < kTensors; ++i) kernels::add_errors(errors[i], errors_[i]);
    return row;
  }

  /// After end_experts().
  void add_tokens() {
    const auto add = [&](StepTensor tensor, const void* values, ElementType type) {
      add_tokens_of(tensor, values, type);
    };
    for_each_made(/*tokens=*/true, 0, add);
  }

  void finish(RunResult& result) {
    result.tensors = tensor_results(layer_.request(), layer_.shape().splits);
    for (TensorResult& one : result.tensors) {
      const StepTensor tensor = one.tensor;
      one.error = product_accuracy(errors_[static_cast<std::size_t>(tensor)]);
      if (!engine::operand_of(StepKind::ExpertLayer, tensor)) continue;
      one.quantization = folds_[index_of(tensor)].statistics(rowwise(tensor).scales());
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const ProductAccuracy y = product_accuracy(source_errors_[i]);
      tensor_row(result, sources_[i]).unquantized_y = {y.snr_db, y.left_out()};
    }
    const ProductAccuracy unquantized = product_accuracy(unquantized_error_);
    result.expert_layer = {unquantized.snr_db, unquantized.left_out()};
  }

 private:
  void add_tokens_of(StepTensor tensor, const void* values, ElementType type) {
    const TensorExtent extent = extent_of(layer_.request(), tensor);
    if (extent.rows == 0) return;
    const std::vector<float> exact = reference_.of_tokens(tensor);
    const std::int64_t offsets[2] = {0, extent.rows};
    kernels::product_error_cpu({.product = values,
                                .product_type = type,
                                .reference = exact.data(),
                                .row_offsets = offsets,
                                .num_groups = 1,
                                .capacity_rows = extent.rows,
                                .columns = extent.columns,
                                .errors = &errors_[static_cast<std::size_t>(tensor)]});
  }

  bool exists(StepTensor tensor) const {
    const StepTensorTraits& traits = traits_of(tensor);
    if (!has_tensor(layer_.request(), tensor)) return false;
    return traits.backward || !traits.output || layer_.runs_forward();
  }

  /// Calls `use` with every tensor that the step makes and results report, except operands: their
  /// errors are those of their copies.
  template <class Use>
  void for_each_made(bool tokens, int expert, const Use& use) const {
    for (std::size_t i = 0; i < kTensors; ++i) {
      const auto tensor = static_cast<StepTensor>(i);
      const StepTensorTraits& traits = traits_of(tensor);
      if (!traits.reported || traits.tokens() != tokens || !exists(tensor)) continue;
      if (engine::operand_of(StepKind::ExpertLayer, tensor)) continue;
      const void* const values = layer_.values_of(tensor, expert);
      const std::optional<ElementType> type = element_of(layer_.request(), tensor);
      if (values != nullptr && type) use(tensor, values, *type);
    }
  }

  CpuProjection& projection(Projection which) const {
    return which == Projection::Up ? layer_.up() : layer_.down();
  }
  OperandStage& rowwise(StepTensor tensor) const {
    const TensorOperand& operand = layer_operand(tensor);
    return projection(operand.projection).stage(operand.role, Direction::Rowwise);
  }

  void compare(StepTensor tensor, const void* value, ElementType type,
               std::array<GroupProductError, kTensors>& errors) const {
    compare(tensor, value, type, errors[static_cast<std::size_t>(tensor)]);
  }
  void compare(StepTensor tensor, const void* value, ElementType type,
               GroupProductError& error) const {
    compare_with(reference_, tensor, value, type, error);
  }

  /// The operand before it was quantized: loaded, or what the activation made, by itself.
  ExpertElements elements(StepTensor tensor, int expert) {
    const TensorOperand& operand = layer_operand(tensor);
    ExpertElements made = projection(operand.projection).elements(operand.role, 0, expert);
    if (made.activation.is_none()) return made;
    std::uint16_t* const values = made_.reserve(made.rows * reference_.columns(tensor));
    const auto at = [&](StepTensor one) -> void* {
      if (one == tensor) return values;
      return layer_.tensors().row(one, 0, layer_.up().first_row(expert));
    };
    for (const Operation& operation : reference_.operations()) {
      if (!operation.traits().by_row || operation.writes.front().tensor != tensor) continue;
      layer_.compute_rows(operation, expert,
                          {.type = layer_.request().recipe.high_precision, .at = at});
    }
    return {.expert = expert,
            .rows = made.rows,
            .elements = reinterpret_cast<const std::byte*>(values)};
  }

  void add_operands(int expert, std::array<GroupProductError, kTensors>& errors) {
    for (const StepTensor operand : kOperands) {
      if (!exists(operand)) continue;
      const ExpertElements own = elements(operand, expert);
      if (own.rows == 0) continue;
      OperandStage& stage = rowwise(operand);
      add_operand(stage, own, folds_[index_of(operand)]);
      compare(operand, stage.widen(own, 0), ElementType::Fp32, errors);
    }
  }

  /// As the down projection quantizes it; FP32.
  const float* quantized_a(int expert, const void* a) {
    const ExpertElements elements{.expert = expert,
                                  .rows = layer_.up().rows(expert),
                                  .elements = static_cast<const std::byte*>(a)};
    trial_.configure(trial_plan_);  // no amax of another trial in its history
    for (int cast = 0; cast < trial_.plan().traits().warm_up_steps(); ++cast) {
      if (trial_.plan().traits().measures_amax()) trial_.measure_amax(elements, 0);
      trial_.quantize(elements, 0);
    }
    return trial_.widen(elements, 0);
  }

  const float* widened(int expert, const void* a) {
    const auto* const narrow = static_cast<const std::uint16_t*>(a);
    const std::int64_t count = layer_.up().rows(expert) * layer_.activated_columns();
    const ElementType type = layer_.request().recipe.high_precision;
    float* const wide = wide_.reserve(count);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) wide[i] = value_of(type, narrow[i]);
    return wide;
  }

  /// Y of operands as the step reads them, or unquantized where exact(tensor), in high precision:
  /// the error of the operations from the first that reads `from`.
  template <class Exact>
  void add_y(int expert, StepTensor from, const Exact& exact, GroupProductError& error) {
    const auto reads_it = [&](const Operation& operation) {
      return std::ranges::find(operation.reads, from, &Value::tensor) != operation.reads.end();
    };
    const std::vector<Operation>& all = plain_.operations();
    const auto first = std::ranges::find_if(all, reads_it);
    const bool makes_a = from != StepTensor::WDown;
    plain_.run({first, all.end()}, [&](StepTensor tensor) {
      if (tensor != StepTensor::A) {
        return exact(tensor) ? reference_.of(tensor) : as_read_[static_cast<std::size_t>(tensor)];
      }
      const void* const a = plain_.values(tensor);
      return !makes_a        ? as_read(tensor, expert)
             : exact(tensor) ? widened(expert, a)
                             : quantized_a(expert, a);
    });
    compare(StepTensor::Y, plain_.values(StepTensor::Y), layer_.request().recipe.high_precision,
            error);
  }

  const float* as_read(StepTensor tensor, int expert) const {
    const TensorOperand& operand = layer_operand(tensor);
    return projection(operand.projection).widen(operand.role, Direction::Rowwise, 0, expert);
  }

  /// Y once for every operand of forward that is quantized, that one in FP32, and once with all
  /// operands in FP32. The projections' own stages still hold the expert's operands.
  void add_sources(int expert) {
    if (layer_.up().rows(expert) == 0) return;
    plain_.begin(expert);
    for (const StepTensor tensor : {StepTensor::X, StepTensor::WUp, StepTensor::WDown}) {
      as_read_[static_cast<std::size_t>(tensor)] = as_read(tensor, expert);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const StepTensor source = sources_[i];
      // A as the step has quantized it, where it has no part in the trial.
      const StepTensor from = source == StepTensor::WDown ? source : StepTensor::X;
      add_y(expert, from, [&](StepTensor one) { return one == source; }, source_errors_[i]);
    }
    add_y(expert, StepTensor::X, [](StepTensor) { return true; }, unquantized_error_);
  }

  CpuExpertLayer& layer_;
  ExpertLayerReference reference_;
  UnquantizedLayer plain_;  // Y with operands left unquantized
  std::array<OperandFold, kOperands.size()> folds_;
  std::array<GroupProductError, kTensors> errors_{};
  std::vector<StepTensor> sources_;
  std::vector<GroupProductError> source_errors_;
  GroupProductError unquantized_error_{};
  OperandPlan trial_plan_;
  OperandStage trial_;  // quantizes A without touching the step's own scales and history
  std::array<const float*, kTensors> as_read_{};  // operands of the products in forward
  Buffer<std::uint16_t> made_;
  Buffer<float> wide_;
};

}  // namespace

Status CpuExpertLayer::measure_statistics(RunResult& result) {
  Statistics statistics(*this);
  begin_experts();
  for (int expert = 0; expert < shape_.num_experts(); ++expert) {
    if (!setup_.progress.advance(expert, kStatisticsUnits)) return cancelled();
    run_expert(expert);
    if (setup_.progress.is_cancelled()) return cancelled();
    const HostSpan span(setup_.context, {Stage::Check, 0, expert}, "statistics");
    const ExpertResult row = statistics.add_expert(expert);
    if (runs_backward()) {
      up_.clear_weight_gradient(0, expert);
      down_.clear_weight_gradient(0, expert);
    }
    if (setup_.progress.is_cancelled()) return cancelled();
    result.experts.push_back(row);
  }
  end_experts();
  statistics.add_tokens();
  result.backward = runs_backward();
  statistics.finish(result);
  return {};
}

Result<OutputErrors> CpuExpertLayer::measure_errors() {
  OutputErrors errors;
  ExpertLayerReference reference(*this);
  const ElementType type = request().recipe.high_precision;
  begin_experts();
  for (int expert = 0; expert < shape_.num_experts(); ++expert) {
    if (!setup_.progress.advance(expert, kStatisticsUnits)) return cancelled();
    run_expert(expert);
    if (setup_.progress.is_cancelled()) return cancelled();
    const HostSpan span(setup_.context, {Stage::Check, 0, expert}, "errors");
    reference.compute(expert);
    if (runs_forward()) {
      compare_with(reference, StepTensor::Y, values_of(StepTensor::Y, expert), type, errors.y);
    }
    if (!runs_backward()) continue;
    compare_with(reference, StepTensor::DX, values_of(StepTensor::DX, expert), type, errors.dx);
    compare_with(reference, StepTensor::DWUp, values_of(StepTensor::DWUp, expert),
                 request().products.wgrad_type, errors.dw);
    up_.clear_weight_gradient(0, expert);
    down_.clear_weight_gradient(0, expert);
  }
  if (setup_.progress.is_cancelled()) return cancelled();
  return errors;
}

}  // namespace engine
