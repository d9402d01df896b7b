// What the Recipes view derives from a comparison: one table row per recipe, and the overlaid plots
// and experts of the chosen ones. Built once per comparison, direction and choice. No ImGui calls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/panels/code_bits.h"
#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/drawn_table.h"
#include "app/plot/scale_maps.h"
#include "profiling/session/session_file.h"

namespace app {

inline constexpr std::size_t kMostOverlaid = 3;

/// A recipe that is overlaid on other recipes.
struct RecipeOverlay {
  int row = 0;  // in the table
  std::string name;
  const engine::QuantizationReport* report = nullptr;
  CodeFormat format;
  bool transformed = false;  // transformed_codes()
  ImU32 color = 0;
  plot::Bins after;
  plot::Bins scale;
  plot::Bins codes;  // a four-bit code is drawn 16 wide, so that the sign halves line up
  int codes_used = 0;
  plot::Grid map;
  std::vector<double> separators;
};

/// Overlay of one report, ready for reading elements; the model computes the rest.
RecipeOverlay overlay_of(const engine::QuantizationReport& report, engine::OperandRole role);

/// The overlaid recipes expert by expert: of every expert one bar and one row for each of them, in
/// the order of the overlays.
struct RecipeExperts {
  std::vector<plot::Bar> snr;
  std::vector<plot::Bar> lost;   // dB of SNR, against the recipe chosen first
  std::vector<plot::Bar> waste;  // binades: bar = mean, whisker = worst scale
  plot::DrawnTable table;
};

/// Rows of a scaling that the comparison has with both kinds of scale.
struct ScalePair {
  std::string name;       // "FP8 block"
  std::vector<int> rows;  // FP32 scales first
  bool operator==(const ScalePair&) const = default;
};

class RecipesModel {
 public:
  using Comparison = std::shared_ptr<const profiling::RecordedComparison>;

  void set(Comparison comparison, bool columnwise, const Theme& theme);
  /// Rows to overlay, at most kMostOverlaid; refused ones are left out. The first is what the SNR
  /// of the others is compared with.
  void choose(const std::vector<int>& rows, const Theme& theme);

  const Comparison& recorded() const { return recorded_; }
  const engine::RecipeComparison& comparison() const { return recorded_->comparison; }
  /// Identifies the content of the rows and of the overlays.
  std::uint64_t generation() const { return generation_; }
  bool columnwise() const { return columnwise_; }

  const plot::DrawnTable& table() const { return table_; }
  const std::vector<const engine::QuantizationReport*>& reports() const { return reports_; }
  /// The initial choice: the first block recipe of every kind of scale, then the remaining recipes.
  std::vector<int> first_choice() const;
  const std::vector<ScalePair>& scale_pairs() const { return pairs_; }
  const std::vector<RecipeOverlay>& overlays() const { return overlays_; }
  const RecipeExperts& experts() const { return experts_; }
  const plot::Bins& before() const { return before_; }
  plot::Range map_colors() const { return map_colors_; }

  /// Row of the operand at a position of a scale map.
  std::int64_t operand_row(const engine::ScaleMap& map, double source_row) const;
  std::int64_t operand_rows() const;

 private:
  void derive_table(const Theme& theme);
  void derive_pairs();
  void derive_experts(const Theme& theme);

  Comparison recorded_;
  bool columnwise_ = false;
  std::uint64_t generation_ = 0;
  std::vector<const engine::QuantizationReport*> reports_;  // of the current direction
  plot::DrawnTable table_;
  std::vector<RecipeOverlay> overlays_;
  RecipeExperts experts_;
  std::vector<ScalePair> pairs_;
  plot::Bins before_;
  plot::Range map_colors_;
};

/// The order that results from the rail's request, for the elements around the largest one of
/// `sample`, or from its place on where it has no size. Settings that a comparison does not use
/// (launch, layers, chosen recipe) are at their defaults, so that changing them triggers nothing.
engine::ComparisonRequest comparison_order(const engine::RunRequest& request, bool weights,
                                           const OperandRegion& sample = {});
/// Whether a comparison answers an order; the backend may have been chosen by the worker.
bool answers(const engine::ComparisonRequest& done, const engine::ComparisonRequest& order);

/// What a recipe turned one element of the sample into, as arithmetic.
struct ElementReading {
  std::string original;  // "0.7421875"
  std::string code;      // "0x3D   0 0111 101"
  std::string value;     // "+1.625 x 2^0 = 1.625"
  std::string decoded;   // "1.625 x 0.4571 = 0.7428"
  std::string error;     // "error +0.0007 (+0.09 %, 0.31 ulp)"
};
ElementReading read_element(const RecipeOverlay& overlay, int row, int column);
/// grid_steps() of an element of the sample; NaN if the code belongs to a transformed element.
double steps_to_code(const RecipeOverlay& overlay, std::size_t index);

}  // namespace app
