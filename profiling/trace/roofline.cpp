#include "profiling/trace/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>
#include <variant>

#include "engine/gemm/support.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/weight_reuse.h"
#include "engine/quantize/operand_layout.h"
#include "profiling/trace/statistics.h"

namespace profiling {
namespace {

using engine::Stage;

constexpr double kHighPrecisionBytes = 2.0;

/// Rows of every expert that has any: an expert without rows has no codes and no scales to move.
std::vector<std::int64_t> routed_rows(const std::vector<std::int64_t>& splits) {
  std::vector<std::int64_t> rows;
  std::ranges::copy_if(splits, std::back_inserter(rows), [](std::int64_t m) { return m > 0; });
  return rows;
}

double sum_of(const std::vector<std::int64_t>& rows) {
  return static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
}

double elements_of(const engine::CopyExtent& extent) {
  return sum_of({extent.splits.begin(), extent.splits.end()}) * static_cast<double>(extent.columns);
}

/// Bytes of an operand as a product reads it, its scales with their padding.
double operand_bytes(const engine::RunRequest& request, bool emulated, kernels::Direction direction,
                     const engine::CopyExtent& operand) {
  if (emulated) return elements_of(operand) * kHighPrecisionBytes;
  // The CPU multiplies FP32 copies, decoded one expert at a time; the bytes it must read are the
  // same as on a device.
  return static_cast<double>(engine::copy_bytes(request.recipe, direction, operand));
}

/// Of the elements as quantizing reads them; empty for a file that is read as it is, whose element
/// type is in the file alone.
std::optional<double> input_bytes(const engine::RunRequest& request,
                                  const engine::InputSpec& input) {
  // Operands are rounded to 16 bits when they are uploaded.
  if (engine::traits_of(request.backend).device) return kHighPrecisionBytes;
  const auto* synthetic = std::get_if<engine::SyntheticInput>(&input);
  if (synthetic == nullptr) return std::nullopt;
  return static_cast<double>(engine::element_bytes(synthetic->element));
}

/// An operand that a step quantizes.
struct QuantizedOperand {
  engine::CopyExtent extent;
  const engine::InputSpec* input = nullptr;
  std::vector<kernels::Direction> copies;  // that it makes
  int times = 1;                           // in a step: layers, or once for all of them
};

double written_bytes(const engine::Recipe& recipe, const QuantizedOperand& operand) {
  const auto& [role, splits, columns] = operand.extent;
  const engine::OperandExtent capacity{
      .capacity_rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0}),
      .num_groups = static_cast<int>(splits.size()),
      .columns = columns};
  std::int64_t bytes = 0;
  for (const kernels::Direction direction : operand.copies) {
    const engine::OperandLayout layout = engine::operand_layout(recipe, role, direction, capacity);
    bytes += engine::written_code_bytes(layout, splits, columns);
    // Both copies have the same scale per tensor.
    if (layout.per_tensor() && direction != operand.copies.front()) continue;
    bytes += engine::written_scale_bytes(layout, splits, columns);
  }
  return static_cast<double>(bytes);
}

/// A backward-only step finds X and W quantized: only dY is new in each iteration.
std::optional<StageWork> quantize_work(const engine::RunRequest& request,
                                       const std::vector<std::int64_t>& splits,
                                       bool quantizes_weights) {
  if (!engine::traits_of(request.recipe).quantizes()) return std::nullopt;
  const bool forward = request.linear.passes != engine::StepPasses::Backward;
  const bool backward = request.linear.passes != engine::StepPasses::Forward;
  const std::vector<std::int64_t> rows = routed_rows(splits);
  // Of every expert, with rows or without.
  const std::vector<std::int64_t> weight_rows(splits.size(), request.shape.n);
  // Every layer of a linear step has the same X and dY. A device quantizes them once; the CPU,
  // which keeps the codes of one expert at a time, in each layer.
  const int shared = engine::traits_of(request.backend).device ? 1 : request.layers;
  const std::vector both = {kernels::Direction::Rowwise, kernels::Direction::Columnwise};
  // Rowwise for fprop, columnwise for the gradients.
  const std::vector of_forward = backward ? both : std::vector{kernels::Direction::Rowwise};
  std::vector<QuantizedOperand> operands;
  if (forward) {
    operands.push_back({.extent = {.role = engine::OperandRole::Activations,
                                   .splits = rows,
                                   .columns = request.shape.k},
                        .input = &request.activations,
                        .copies = of_forward,
                        .times = shared});
  }
  if (forward && quantizes_weights) {
    operands.push_back({.extent = {.role = engine::OperandRole::Weights,
                                   .splits = weight_rows,
                                   .columns = request.shape.k},
                        .input = &request.weights,
                        .copies = of_forward,
                        .times = request.layers});
  }
  if (backward) {
    operands.push_back({.extent = {.role = engine::OperandRole::Gradients,
                                   .splits = rows,
                                   .columns = request.shape.n},
                        .input = &request.linear.gradients,
                        .copies = both,
                        .times = shared});
  }
  StageWork work;
  for (const QuantizedOperand& operand : operands) {
    const double elements = elements_of(operand.extent);
    if (elements == 0.0) continue;
    const std::optional<double> read = input_bytes(request, *operand.input);
    if (!read) return std::nullopt;
    work.flop += operand.times * elements * static_cast<double>(operand.copies.size());
    work.bytes += operand.times * (elements * *read + written_bytes(request.recipe, operand));
  }
  return work;
}

/// Dense rates per SM and clock, and the data sheet's clock and memory rate. Hopper: 4096 FLOP per
/// clock and SM with 16-bit operands, 8192 with FP8 (989 and 1979 TFLOP/s at 1.83 GHz, 132 SMs).
struct DeviceRow {
  const char* name;
  double clock_mhz;
  double bytes_per_s;
};
constexpr std::array kHopper = {DeviceRow{"NVIDIA H200", 1830.0, 4.8e12},
                                DeviceRow{"NVIDIA H100 80GB HBM3", 1830.0, 3.35e12}};

/// Of a linear step.
std::optional<StageWork> linear_work(const engine::RunRequest& request,
                                     const std::vector<std::int64_t>& splits, bool emulated,
                                     Stage stage) {
  const bool forward = request.linear.passes != engine::StepPasses::Backward;
  const bool backward = request.linear.passes != engine::StepPasses::Forward;
  const auto n = static_cast<double>(request.shape.n);
  const auto k = static_cast<double>(request.shape.k);
  const std::vector<std::int64_t> routed = routed_rows(splits);
  const std::vector<std::int64_t> weight_rows(routed.size(), request.shape.n);
  const double rows = sum_of(routed);
  const auto read = [&](engine::OperandRole role, kernels::Direction direction) {
    const bool weights = role == engine::OperandRole::Weights;
    const bool gradients = role == engine::OperandRole::Gradients;
    return operand_bytes(request, emulated, direction,
                         {.role = role,
                          .splits = weights ? weight_rows : routed,
                          .columns = gradients ? request.shape.n : request.shape.k});
  };
  using enum engine::OperandRole;
  using enum kernels::Direction;
  const double dw_bytes =
      request.linear.wgrad_type == engine::ElementType::Fp32 ? 4.0 : kHighPrecisionBytes;
  StageWork work{.flop = 2.0 * rows * n * k, .bytes = 0.0};
  switch (stage) {
    case Stage::Fprop:
      if (!forward) return std::nullopt;
      work.bytes =
          read(Activations, Rowwise) + read(Weights, Rowwise) + rows * n * kHighPrecisionBytes;
      break;
    case Stage::Dgrad:
      if (!backward) return std::nullopt;
      work.bytes =
          read(Gradients, Rowwise) + read(Weights, Columnwise) + rows * k * kHighPrecisionBytes;
      break;
    case Stage::Wgrad:
      if (!backward) return std::nullopt;
      // Every expert has a dW, with rows or without. Accumulating into it reads it too.
      work.bytes = read(Activations, Columnwise) + read(Gradients, Columnwise) +
                   static_cast<double>(splits.size()) * n * k * dw_bytes *
                       (request.linear.accumulate_wgrad ? 2.0 : 1.0);
      break;
    default:
      return std::nullopt;
  }
  work.flop *= request.layers;
  work.bytes *= request.layers;
  return work;
}

/// Whether an iteration quantizes the weights, if its step does: iterations outside the timed ones
/// keep none.
bool quantizes_weights(const engine::RunResult& result, int iteration) {
  const int micro_batches = result.effective.linear.micro_batches;
  if (iteration < 0 || micro_batches < 2) return true;
  const std::size_t steps = result.recording ? result.recording->steps.size() : 1;
  return engine::quantizes_weights(iteration, micro_batches, steps);
}

/// X is permuted once for all layers.
std::optional<StageWork> permutation_work(const engine::RunResult& result, Stage stage) {
  const engine::RunRequest& request = result.effective;
  const double layers = request.layers;
  const auto bytes = [&](engine::Projection projection) {
    return permutation_bytes(result, stage, projection);
  };
  StageWork work;
  if (request.linear.passes != engine::StepPasses::Backward) {
    work.bytes += stage == Stage::Permute ? bytes(engine::Projection::Up)
                                          : layers * bytes(engine::Projection::Down);
  }
  if (request.linear.passes != engine::StepPasses::Forward) {
    work.bytes +=
        layers * bytes(stage == Stage::Permute ? engine::Projection::Down : engine::Projection::Up);
  }
  if (work.bytes == 0.0) return std::nullopt;
  work.bytes *= request.launch.in_flight;
  return work;
}

}  // namespace

double permutation_bytes(const engine::RunResult& result, Stage stage,
                         engine::Projection projection) {
  const engine::RunRequest& request = result.effective;
  if (!engine::is_expert_layer(request) || request.expert_layer.top_k == 0) return 0.0;
  const bool up = projection == engine::Projection::Up;
  const double row = static_cast<double>(request.shape.k) * kHighPrecisionBytes;
  const double tokens = static_cast<double>(engine::tokens_of(request)) * row;
  const double rows = sum_of(engine::mean_splits(result)) * row;
  const double number = 4.0 * static_cast<double>(request.shape.tokens);  // of every copy
  if (stage == Stage::Permute)
    return up ? tokens + rows + 2 * number : tokens + 2 * rows + 3 * number;
  if (stage == Stage::Unpermute) return tokens + rows + (up ? 1 : 2) * number;
  return 0.0;
}

std::optional<StageWork> stage_work(const engine::RunResult& result, Stage stage, int iteration) {
  const engine::RunRequest& request = result.effective;
  // Times are those of all iterations.
  const std::vector<std::int64_t> splits = engine::mean_splits(result);
  if (!engine::is_expert_layer(request)) {
    if (stage == Stage::Quantize) {
      return quantize_work(request, splits, quantizes_weights(result, iteration));
    }
    return linear_work(request, splits, !result.emulated.empty(), stage);
  }
  if (stage == Stage::Permute || stage == Stage::Unpermute) return permutation_work(result, stage);
  // What the quantize kernels of a layer move depends on which of them compute the activation.
  if (stage == Stage::Quantize) return std::nullopt;
  if (stage == Stage::Fprop && request.linear.passes == engine::StepPasses::Backward) {
    return std::nullopt;
  }
  StageWork sum;
  for (const engine::Projection projection : {engine::Projection::Up, engine::Projection::Down}) {
    const engine::RunRequest linear = engine::projection_of(request, projection);
    const std::optional<StageWork> work =
        linear_work(linear, splits, engine::is_emulated(result, linear), stage);
    if (!work) return std::nullopt;
    sum.flop += work->flop;
    sum.bytes += work->bytes;
  }
  sum.flop *= request.launch.in_flight;
  sum.bytes *= request.launch.in_flight;
  return sum;
}

namespace {

struct IterationTime {
  int iteration = 0;
  double busy_ns = 0.0;
};

/// Of the iterations that have records of the stage.
std::vector<IterationTime> busy_times(const Activity& activity, Stage stage) {
  struct BusyIteration {
    std::int64_t end_ns = 0;
    std::int64_t busy_ns = 0;
    bool any = false;
  };
  std::vector<BusyIteration> iterations;
  for (const ActivityRecord& record : activity.records) {  // by start
    if (record.stage != stage || record.iteration < 0) continue;
    const auto index = static_cast<std::size_t>(record.iteration);
    if (index >= iterations.size()) iterations.resize(index + 1);
    BusyIteration& busy = iterations[index];
    const std::int64_t from = busy.any ? std::max(record.start_ns, busy.end_ns) : record.start_ns;
    busy.busy_ns += std::max<std::int64_t>(record.end_ns - from, 0);
    busy.end_ns = busy.any ? std::max(busy.end_ns, record.end_ns) : record.end_ns;
    busy.any = true;
  }
  std::vector<IterationTime> times;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (!iterations[i].any) continue;
    times.push_back({static_cast<int>(i), static_cast<double>(iterations[i].busy_ns)});
  }
  return times;
}

/// A rate divides the work of an iteration by the time of iterations with that work. Where weights
/// are quantized in some iterations and kept in the others, it is about the others, which are most.
StageTime stage_time(const engine::RunResult& result, const Activity& activity, Stage stage) {
  std::vector<IterationTime> times = busy_times(activity, stage);
  StageTime one{.stage = stage, .time = {}, .work = stage_work(result, stage)};
  const auto keeping = std::ranges::find_if(times, [&result](const IterationTime& time) {
    return !quantizes_weights(result, time.iteration);
  });
  const bool varies = stage == Stage::Quantize && one.work &&
                      result.effective.linear.passes != engine::StepPasses::Backward;
  if (varies && keeping != times.end()) {
    one.work = stage_work(result, stage, keeping->iteration);
    std::erase_if(times, [&result](const IterationTime& time) {
      return quantizes_weights(result, time.iteration);
    });
  }
  std::vector<double> durations;
  for (const IterationTime& time : times) durations.push_back(time.busy_ns);
  one.time = summarize(durations);
  return one;
}

}  // namespace

std::vector<double> stage_busy_ns(const Activity& activity, Stage stage) {
  std::vector<double> durations;
  for (const IterationTime& one : busy_times(activity, stage)) durations.push_back(one.busy_ns);
  return durations;
}

std::vector<StageTime> stage_times(const engine::RunResult& result, const Activity& activity) {
  std::vector<StageTime> times;
  for (std::size_t i = 0; i < engine::kStageNames.size(); ++i) {
    StageTime one = stage_time(result, activity, static_cast<Stage>(i));
    if (one.time.n > 0) times.push_back(std::move(one));
  }
  return times;
}

std::vector<RooflinePoint> roofline_points(const engine::RunResult& result,
                                           const Activity& activity) {
  std::vector<RooflinePoint> points;
  for (const Stage stage : {Stage::Quantize, Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) {
    const StageTime one = stage_time(result, activity, stage);
    if (!one.work || one.work->flop == 0.0) continue;
    if (one.time.n == 0 || one.time.median <= 0.0) continue;
    points.push_back(
        {.stage = stage, .work = *one.work, .samples = one.time.n, .median_ns = one.time.median});
  }
  return points;
}

std::optional<NominalPeaks> nominal_peaks(const engine::RunResult& result) {
  if (result.device.compute_capability != "9.0") return std::nullopt;
  // Of mixed recipes the faster one: a roof is what no product exceeds.
  const bool narrow =
      std::ranges::any_of(engine::step_parts(result.effective), [&](const engine::StepPart& part) {
        return engine::traits_of(part.request.recipe).quantizes() &&
               !engine::is_emulated(result, part.request);
      });
  for (const DeviceRow& row : kHopper) {
    // The whole name: an NVL board or a slice of a device has other peaks.
    if (result.device.name != row.name) continue;
    return NominalPeaks{
        .flop_per_clock = (narrow ? 8192.0 : 4096.0) * result.device.multiprocessors,
        .clock_mhz = row.clock_mhz,
        .bytes_per_s = row.bytes_per_s,
        .source = fmt::format("data sheet, dense, at {:.2f} GHz", row.clock_mhz / 1e3)};
  }
  return std::nullopt;
}

}  // namespace profiling
