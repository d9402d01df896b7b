// One expert of delayed scaling over steps as series, and the grid of all experts. No ImGui calls.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/plot/grid_fold.h"
#include "profiling/document/table.h"
#include "profiling/session/session_file.h"

namespace app {

class RecipeStepsModel {
 public:
  using Comparison = std::shared_ptr<const profiling::RecordedComparison>;
  /// `comparison` passes has_delayed_steps().
  void set(Comparison comparison);

  /// Null before the first set().
  const Comparison& recorded() const { return recorded_; }
  const engine::ComparisonRequest& request() const { return recorded_->comparison.request; }
  /// The first recipe of the comparison with delayed scaling, which the view shows.
  const engine::Recipe& recipe() const { return request().recipes[shown_]; }
  std::uint64_t generation() const { return generation_; }
  int steps() const { return request().series->steps; }
  int experts() const { return static_cast<int>(report(0).experts.size()); }
  const engine::ExpertQuantization& at(int step, int expert) const;
  /// What the history holds after the step's cast, row 0 first.
  std::vector<double> history(int step, int expert) const;
  using Figure = float engine::DelayedScale::*;
  /// log2 of a figure over the steps of an expert; NaN if there is none.
  std::vector<double> log2_of(Figure figure, int expert) const;
  /// [experts, steps] SNR in dB; NaN = no rows.
  const plot::Grid& snr() const { return snr_; }
  /// The same expert and step under another recipe of the comparison.
  struct Other {
    std::string recipe;  // "FP8 tensor"
    const engine::ExpertQuantization* quantization;
  };
  std::vector<Other> others(int step, int expert) const;
  /// Of the shown recipe, every step and expert.
  profiling::Table table() const;
  profiling::Table history_table(int step, int expert) const;

 private:
  const engine::QuantizationReport& report(int step) const { return report(step, shown_); }
  const engine::QuantizationReport& report(int step, std::size_t recipe) const;

  Comparison recorded_;
  std::size_t shown_ = 0;
  std::uint64_t generation_ = 0;
  plot::Grid snr_;
};

/// Whether a comparison is over steps, and one of its recipes has delayed scaling.
bool has_delayed_steps(const engine::RecipeComparison& comparison);

/// What the user has set on the view itself.
struct RecipeStepsSettings {
  engine::StepSeries series = {};
  engine::DelayedScaling delayed = {};
  std::int64_t rows = 0;  // per step; 0 = those of default_series()
};

/// The order that results from the view's own settings and the rail's request. Settings that it
/// does not use (launch, layers, weights) are at their defaults, so that changing them triggers
/// nothing.
engine::ComparisonRequest series_order(const RecipeStepsSettings& settings,
                                       const engine::RunRequest& rail);

}  // namespace app
