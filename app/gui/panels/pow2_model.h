// What rounding scales to powers of two costs: the same operand with both kinds of scale, from one
// comparison. No ImGui calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/sorted_table.h"
#include "profiling/session/session_file.h"

namespace app {

/// The kinds of scaling that can have power-of-two scales, per tensor first.
const std::vector<engine::Scaling>& pow2_scalings();
/// Each of them with FP32 and with power-of-two scales; once where the scales are always powers of
/// two.
std::vector<engine::Recipe> pow2_recipes(const engine::Recipe& settings);
/// The order that results from the rail's request.
engine::ComparisonRequest pow2_order(const engine::RunRequest& request, bool weights);
/// Whether a comparison has both kinds of scale for at least one scaling, and rows of experts.
bool compares_pow2(const engine::RecipeComparison& comparison);
/// Made by pow2_order(): the Recipes view ignores it.
bool is_pow2_order(const engine::ComparisonRequest& request);

/// One scaling, rowwise. Null = the comparison has none, or it was refused.
struct Pow2Pair {
  const engine::QuantizationReport* free = nullptr;  // FP32 scales
  const engine::QuantizationReport* pow2 = nullptr;
};

class Pow2Model {
 public:
  using Comparison = std::shared_ptr<const profiling::RecordedComparison>;
  void set(Comparison comparison, engine::Scaling scaling, const Theme& theme);

  const Comparison& recorded() const { return recorded_; }
  engine::Scaling scaling() const { return scaling_; }
  const Pow2Pair& pair() const { return pair_; }
  std::uint64_t generation() const { return generation_; }
  /// Binades that an expert's power-of-two scales leave unused: bar = mean, whisker = largest.
  const std::vector<plot::Bar>& waste() const { return waste_; }
  /// SNR of each expert's part of the operand with one kind of scale.
  const std::vector<plot::Bar>& snr(bool pow2) const { return pow2 ? snr_pow2_ : snr_free_; }
  const std::vector<plot::TableRow>& rows() const { return rows_; }
  /// Median of the timed launches in ns; NaN if none was timed.
  static double median_ns(const engine::QuantizationReport* report);
  /// SNR lost, in dB; NaN unless both are known.
  double lost_db() const;

 private:
  Comparison recorded_;
  engine::Scaling scaling_ = engine::Scaling::Block;
  Pow2Pair pair_;
  std::uint64_t generation_ = 0;
  std::vector<plot::Bar> waste_, snr_free_, snr_pow2_;
  std::vector<plot::TableRow> rows_;
};

const std::vector<plot::Column>& pow2_columns();

}  // namespace app
