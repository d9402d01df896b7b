// What the Numerics page derives from a run: bins, the scale map, bars and rows, built once per run
// and operand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/drawn_table.h"
#include "app/plot/scale_maps.h"
#include "profiling/session/session_file.h"

namespace app {

/// Whether a linear step reads the tensor; its W is the Wup of an expert layer.
bool is_linear_operand(engine::StepTensor tensor);

class NumericsModel {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  void set(Run run, std::uint64_t generation, engine::StepTensor operand, engine::Product product,
           const Theme& theme);
  void choose_layer(MapLayer layer);

  const profiling::RecordedRun& run() const { return *run_; }
  const engine::OperandStatistics& statistics() const;
  /// Additional results of a quantized tensor in an expert layer; null for a linear step.
  const engine::TensorResult* in_layer() const;
  std::uint64_t run_generation() const { return run_generation_; }
  /// Identifies the content: changes with the run and the operand.
  std::uint64_t generation() const { return generation_; }
  engine::StepTensor operand() const { return operand_; }
  std::string operand_name() const {
    return std::string(engine::tensor_symbol(run_->result.effective.step, operand_));
  }
  /// The recipe that quantized the operand: the projections of an expert layer may have different
  /// recipes.
  const engine::Recipe& recipe() const { return recipe_; }
  engine::Product product() const { return product_; }
  bool quantized() const { return quantized_; }

  const plot::Bins& before() const { return before_; }
  const plot::Bins& after() const { return after_; }
  const plot::Bins& scale() const { return scale_; }
  const plot::Bins& amax() const { return amax_; }
  const plot::Grid& map() const { return map_; }
  MapLayer layer() const { return layer_; }
  /// Identifies the content of the map: also changes with the layer.
  std::uint64_t map_generation() const { return map_generation_; }
  plot::Range map_colors() const { return map_colors_; }
  const std::vector<double>& separators() const { return separators_; }
  /// First row of the operand that a row of scales covers.
  std::int64_t operand_row(double source_row) const;
  const std::vector<plot::Bar>& snr_bars() const { return snr_bars_; }
  const plot::DrawnTable& experts_table() const { return experts_; }

 private:
  void derive_experts(const Theme& theme);

  Run run_;
  std::uint64_t run_generation_ = 0;
  std::uint64_t generation_ = 0;
  engine::StepTensor operand_ = engine::StepTensor::X;
  engine::Recipe recipe_;
  engine::Product product_ = engine::Product::Fprop;
  bool quantized_ = false;
  plot::Bins before_, after_, scale_, amax_;
  MapLayer layer_ = MapLayer::Mean;
  std::uint64_t map_generation_ = 0;
  plot::Grid map_;
  plot::Range map_colors_;
  std::vector<double> separators_;
  std::vector<plot::Bar> snr_bars_;
  plot::DrawnTable experts_;
};

/// "FP8 block 1x128 / 128x128, E4M3, power-of-two scales".
std::string recipe_text(const engine::Recipe& recipe);

// What a range selected on the shared axis of the histograms contains: whole bins, their share, and
// how many scales of every expert.

struct SelectedSeries {
  std::string name;  // "before", "after", "amax"; "scale"
  double count = 0.0;
  double total = 0.0;  // including zeros, infinities and NaN
};

struct ValueSelection {
  plot::Range asked;    // log2, as drawn
  plot::Range snapped;  // to the edges of magnitude bins: the counts are for this range
  bool scales = false;  // a range of scales; else of magnitudes: values and amax
  std::vector<SelectedSeries> series = {};
  /// For a range of scales: their number in each expert; empty if the scale map is folded, because
  /// single scales are then not known.
  std::vector<std::uint64_t> scales_of_experts = {};
};

/// Counts whole bins: those whose centre lies in the range. A scale is not a magnitude, so a range
/// of scales selects no values, and vice versa.
ValueSelection select_values(const NumericsModel& model, plot::Range range, bool scales);
/// Edges of the magnitude bins whose centres lie in the range; empty if there is none.
plot::Range snapped_to_bins(plot::Range range);
/// The selection must outlive the table.
profiling::Table selection_table(const ValueSelection& selection);

}  // namespace app
