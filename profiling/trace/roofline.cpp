#include "profiling/trace/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "engine/gemm/support.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "profiling/trace/statistics.h"

namespace profiling {
namespace {

using engine::Stage;

constexpr double kHighPrecisionBytes = 2.0;

/// Bytes per element including its share of the scales, as a product reads it.
double operand_bytes(const engine::RunRequest& request, bool emulated, bool square_blocks) {
  if (emulated) return kHighPrecisionBytes;
  // The CPU multiplies FP32 copies, decoded one expert at a time; the bytes it must read are the
  // same as on a device.
  return engine::traits_of(request.recipe).element_bytes(square_blocks);
}

struct Extents {
  double rows = 0.0;         // of all experts
  double weight_rows = 0.0;  // n of every expert that has rows
  double all_weights = 0.0;  // n of every expert: each has a weight gradient
  double n = 0.0;
  double k = 0.0;
};

Extents extents_of(const engine::ShapeSpec& shape, const std::vector<std::int64_t>& splits) {
  Extents extents{.n = static_cast<double>(shape.n), .k = static_cast<double>(shape.k)};
  for (const std::int64_t rows : splits) {
    extents.rows += static_cast<double>(rows);
    if (rows > 0) extents.weight_rows += extents.n;
    extents.all_weights += extents.n;
  }
  return extents;
}

/// Of the elements as they are read; empty for a file, whose element type is in the file alone.
std::optional<double> input_bytes(const engine::InputSpec& input) {
  const auto* synthetic = std::get_if<engine::SyntheticInput>(&input);
  if (synthetic == nullptr) return std::nullopt;
  return static_cast<double>(engine::element_bytes(synthetic->element));
}

std::optional<StageWork> quantize_work(const engine::RunRequest& request, const Extents& extents) {
  const engine::RecipeTraits& traits = engine::traits_of(request.recipe);
  if (!traits.quantizes()) return std::nullopt;
  const bool backward = request.linear.passes != engine::StepPasses::Forward;
  // As the step sets up its operands: X and W have a copy for fprop and one for the gradients.
  const double copies = request.linear.passes == engine::StepPasses::ForwardBackward ? 2.0 : 1.0;
  struct Operand {
    const engine::InputSpec& input;
    double elements;
    double copies;
    bool square;
  };
  const Operand operands[] = {{request.activations, extents.rows * extents.k, copies,
                               request.recipe.square_activation_blocks},
                              {request.weights, extents.all_weights * extents.k, copies,
                               request.recipe.square_weight_blocks},
                              {request.linear.gradients, backward ? extents.rows * extents.n : 0.0,
                               2.0, request.recipe.square_gradient_blocks}};
  StageWork work;
  for (const Operand& operand : operands) {
    if (operand.elements == 0.0) continue;
    const std::optional<double> read = input_bytes(operand.input);
    if (!read) return std::nullopt;
    work.flop += operand.copies * operand.elements;
    work.bytes +=
        operand.elements * (*read + operand.copies * traits.element_bytes(operand.square));
  }
  work.flop *= request.layers;
  work.bytes *= request.layers;
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
  const Extents e = extents_of(request.shape, splits);
  const double x = operand_bytes(request, emulated, request.recipe.square_activation_blocks);
  const double w = operand_bytes(request, emulated, request.recipe.square_weight_blocks);
  const double dy = operand_bytes(request, emulated, request.recipe.square_gradient_blocks);
  const double dw_bytes =
      request.linear.wgrad_type == engine::ElementType::Fp32 ? 4.0 : kHighPrecisionBytes;
  StageWork work{.flop = 2.0 * e.rows * e.n * e.k, .bytes = 0.0};
  switch (stage) {
    case Stage::Quantize:
      return quantize_work(request, e);
    case Stage::Fprop:
      if (!forward) return std::nullopt;
      work.bytes = e.rows * e.k * x + e.weight_rows * e.k * w + e.rows * e.n * kHighPrecisionBytes;
      break;
    case Stage::Dgrad:
      if (!backward) return std::nullopt;
      work.bytes = e.rows * e.n * dy + e.weight_rows * e.k * w + e.rows * e.k * kHighPrecisionBytes;
      break;
    case Stage::Wgrad:
      if (!backward) return std::nullopt;
      // Accumulating into dW reads it too.
      work.bytes = e.rows * e.k * x + e.rows * e.n * dy +
                   e.all_weights * e.k * dw_bytes * (request.linear.accumulate_wgrad ? 2.0 : 1.0);
      break;
    default:
      return std::nullopt;
  }
  work.flop *= request.layers;
  work.bytes *= request.layers;
  return work;
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
  const Extents e = extents_of(request.shape, engine::mean_splits(result));
  const double row = e.k * kHighPrecisionBytes;
  const double tokens = static_cast<double>(engine::tokens_of(request)) * row;
  const double rows = e.rows * row;
  const double number = 4.0 * static_cast<double>(request.shape.tokens);  // of every copy
  if (stage == Stage::Permute)
    return up ? tokens + rows + 2 * number : tokens + 2 * rows + 3 * number;
  if (stage == Stage::Unpermute) return tokens + rows + (up ? 1 : 2) * number;
  return 0.0;
}

std::optional<StageWork> stage_work(const engine::RunResult& result, Stage stage) {
  const engine::RunRequest& request = result.effective;
  // Times are those of all iterations.
  const std::vector<std::int64_t> splits = engine::mean_splits(result);
  if (!engine::is_expert_layer(request)) {
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

std::vector<double> stage_busy_ns(const Activity& activity, Stage stage) {
  struct Busy {
    std::int64_t end_ns = 0;
    std::int64_t busy_ns = 0;
    bool any = false;
  };
  std::vector<Busy> iterations;
  for (const ActivityRecord& record : activity.records) {  // by start
    if (record.stage != stage || record.iteration < 0) continue;
    const auto index = static_cast<std::size_t>(record.iteration);
    if (index >= iterations.size()) iterations.resize(index + 1);
    Busy& busy = iterations[index];
    const std::int64_t from = busy.any ? std::max(record.start_ns, busy.end_ns) : record.start_ns;
    busy.busy_ns += std::max<std::int64_t>(record.end_ns - from, 0);
    busy.end_ns = busy.any ? std::max(busy.end_ns, record.end_ns) : record.end_ns;
    busy.any = true;
  }
  std::vector<double> durations;
  for (const Busy& busy : iterations) {
    if (busy.any) durations.push_back(static_cast<double>(busy.busy_ns));
  }
  return durations;
}

std::vector<StageTime> stage_times(const engine::RunResult& result, const Activity& activity) {
  std::vector<StageTime> times;
  for (std::size_t i = 0; i < engine::kStageNames.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    const Distribution time = summarize(stage_busy_ns(activity, stage));
    if (time.n == 0) continue;
    times.push_back({.stage = stage, .time = time, .work = stage_work(result, stage)});
  }
  return times;
}

std::vector<RooflinePoint> roofline_points(const engine::RunResult& result,
                                           const Activity& activity) {
  std::vector<RooflinePoint> points;
  for (const Stage stage : {Stage::Quantize, Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) {
    const std::optional<StageWork> work = stage_work(result, stage);
    if (!work || work->flop == 0.0) continue;
    const Distribution time = summarize(stage_busy_ns(activity, stage));
    if (time.n == 0 || time.median <= 0.0) continue;
    points.push_back({.stage = stage, .work = *work, .samples = time.n, .median_ns = time.median});
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
