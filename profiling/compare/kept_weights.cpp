#include "profiling/compare/kept_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/model/projections.h"

namespace profiling {
namespace {

bool quantizes(const RecordedRun& run) {
  return std::ranges::any_of(engine::step_parts(run.result.effective), [](const auto& part) {
    return engine::traits_of(part.request.recipe).quantizes();
  });
}

/// The request without the recipe, and without how often and how closely it is measured.
engine::RunRequest without_recipe(engine::RunRequest request) {
  const engine::RunRequest plain;
  request.shape.preset.clear();  // a name for the same numbers
  request.recipe = plain.recipe;
  request.expert_layer.mixed_recipes = plain.expert_layer.mixed_recipes;
  request.expert_layer.down_scaling = plain.expert_layer.down_scaling;
  request.products.weight_reuse = plain.products.weight_reuse;
  request.launch.iterations = plain.launch.iterations;
  request.launch.median_within = plain.launch.median_within;
  request.launch.time_limit_s = plain.launch.time_limit_s;
  const engine::MeasureOptions around = request.measure;
  request.measure = plain.measure;
  request.measure.cache = around.cache;
  request.measure.pace = around.pace;
  return request;
}

/// As asked for: what became of it may depend on the recipe.
bool same_step(const RecordedRun& a, const RecordedRun& b) {
  return without_recipe(a.request) == without_recipe(b.request) &&
         a.result.effective.backend == b.result.effective.backend &&
         a.result.splits == b.result.splits && a.result.device.name == b.result.device.name;
}

/// Iterations of several recorded steps differ in more than what they quantize.
bool one_routing(const RecordedRun& run) {
  return !run.result.recorded_routing || run.result.recorded_routing->steps.size() < 2;
}

struct Samples {
  std::vector<double> quantizing;
  std::vector<double> keeping;  // or without quantization
};

/// Every block of a side begins with an iteration that quantizes.
Samples samples_of(const RunSide& side, bool quantized) {
  Samples samples;
  for (const RecordedRun* run : side) {
    const int every = run->result.effective.products.weight_reuse;
    for (std::size_t i = 0; i < run->result.iterations.size(); ++i) {
      const auto duration = static_cast<double>(run->result.iterations[i].duration_ns);
      const bool first = engine::quantizes_weights(static_cast<int>(i), every, 1);
      (quantized && first ? samples.quantizing : samples.keeping).push_back(duration);
    }
  }
  return samples;
}

/// The medians at one end of their intervals.
engine::ReuseTimes at_end(const Interval& quantizing, const Interval& keeping,
                          const Interval& plain, bool best) {
  return {.quantizing = best ? quantizing.low : quantizing.high,
          .keeping = best ? keeping.low : keeping.high,
          .plain = best ? plain.high : plain.low};
}

}  // namespace

std::optional<KeptWeights> kept_weights(const RunSide& a, const RunSide& b) {
  const RecordedRun& first_a = *a.front();
  const RecordedRun& first_b = *b.front();
  if (quantizes(first_a) == quantizes(first_b) || !same_step(first_a, first_b) ||
      !one_routing(first_a) || !one_routing(first_b)) {
    return {};
  }
  KeptWeights kept{.b_quantizes = quantizes(first_b)};
  const RunSide& quantized = kept.b_quantizes ? b : a;
  if (quantized.front()->result.effective.products.weight_reuse < 2) return {};
  Samples times = samples_of(quantized, true);
  Samples plain = samples_of(kept.b_quantizes ? a : b, false);
  if (times.quantizing.empty() || times.keeping.empty() || plain.keeping.empty()) return {};
  kept.n_quantizing = times.quantizing.size();
  kept.n_keeping = times.keeping.size();
  kept.n_plain = plain.keeping.size();
  const Interval of_quantizing = median_interval(times.quantizing);
  const Interval of_keeping = median_interval(times.keeping);
  const Interval of_plain = median_interval(plain.keeping);
  kept.medians = {.quantizing = engine::median_of(times.quantizing),
                  .keeping = engine::median_of(times.keeping),
                  .plain = engine::median_of(plain.keeping)};
  kept.from = engine::micro_batches_to_win(kept.medians);
  kept.interval_known =
      !std::isnan(of_quantizing.low) && !std::isnan(of_keeping.low) && !std::isnan(of_plain.low);
  if (!kept.interval_known) return kept;
  kept.from_at_best =
      engine::micro_batches_to_win(at_end(of_quantizing, of_keeping, of_plain, true));
  kept.from_at_worst =
      engine::micro_batches_to_win(at_end(of_quantizing, of_keeping, of_plain, false));
  return kept;
}

}  // namespace profiling
