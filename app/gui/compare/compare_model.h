// What the Compare page derives from a pair of sides: computed on a separate thread, once per pair;
// tables and bars are built from it once, never in a frame without a change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/compare/side_choice.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/drawn_table.h"
#include "app/plot/ticks.h"
#include "profiling/compare/run_comparison.h"

namespace app {

/// What the overlaid histograms show: times, or numbers of an operand.
struct Overlay {
  enum class Of { Steps, Kernel, Values, Scales, Amax };
  Of of = Of::Steps;
  engine::StepTensor operand = engine::StepTensor::X;  // not of times
  bool operator==(const Overlay&) const = default;
};
struct OfferedOverlay {
  Overlay overlay;
  std::string label;  // "dY scales"
};
/// The times, and the numbers of every operand that either run has.
std::vector<OfferedOverlay> offered_overlays(const engine::RunResult& a,
                                             const engine::RunResult& b);

struct OverlaidBins {
  plot::Bins a;
  plot::Bins b;
  plot::AxisKind axis = plot::AxisKind::Nanoseconds;
};

class CompareModel {
 public:
  /// `wake` may be called from any thread when tick() would find a result.
  explicit CompareModel(std::function<void()> wake) : task_(std::move(wake)) {}

  /// Starts working when the pair or the product changes.
  void follow(const CompareSide& a, const CompareSide& b, engine::Product product);
  /// True when a result has arrived.
  bool tick();
  bool working() const { return task_.running(); }

  /// Null until the first result; may belong to the previous pair while working().
  const profiling::RunComparison* comparison() const { return result_ ? &result_->runs : nullptr; }
  const profiling::SettingsDifference& settings() const { return result_->settings; }
  /// Changes with every result.
  std::uint64_t generation() const { return generation_; }
  std::string csv() const;
  /// A sentence: from how many micro-batches on quantized weights pay; empty where it is not known.
  const std::string& kept_weights() const { return result_->kept_weights; }

  /// No rows, and a failure that is shown, where they cannot be made.
  void make_rows(const Theme& theme);
  const plot::DrawnTable& settings_table() const { return rows_.settings; }
  /// The step, then stages, then kernels.
  const plot::DrawnTable& times_table() const { return rows_.times; }
  /// For `row` of times_table(): which kernel, or null for the step and the stages.
  const profiling::KernelRow* kernel_of(int row) const;
  /// What bins() can show of this pair.
  const std::vector<OfferedOverlay>& overlays() const { return result_->overlays; }
  /// Bins on common edges, rebuilt when the arguments change. `normalised`: shares in percent.
  const OverlaidBins& bins(Overlay overlay, int row, bool normalised);

 private:
  struct Result {
    CompareSide a;
    CompareSide b;
    profiling::RunComparison runs;
    profiling::SettingsDifference settings;
    std::string kept_weights;
    std::vector<OfferedOverlay> overlays;
  };
  struct Rows {
    plot::DrawnTable settings;
    plot::DrawnTable times;
  };
  struct Asked {
    Overlay overlay;
    int row;
    bool normalised;
    std::uint64_t generation;
    bool operator==(const Asked&) const = default;
  };
  static Rows rows_of(const Result& result, const Theme& theme);
  OverlaidBins make_bins(Overlay overlay, int row) const;

  CompareSide a_;
  CompareSide b_;
  engine::Product product_ = engine::Product::Fprop;
  BackgroundTask<std::shared_ptr<const Result>> task_;
  std::shared_ptr<const Result> result_;
  std::uint64_t generation_ = 0;
  Rows rows_;
  std::optional<Asked> asked_;
  OverlaidBins bins_;
};

ImU32 verdict_color(profiling::TimeVerdict verdict, const Theme& theme);

}  // namespace app
