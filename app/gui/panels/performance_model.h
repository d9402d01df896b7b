// What the Performance page shows of a run. Derivations over the records of a large run are
// computed on background threads; until they finish, the previous ones stay and deriving() is true.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/panels/run_picture.h"
#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/drawn_table.h"

namespace app {

class PerformanceModel {
 public:
  /// `wake` is called from a background thread when take() would find a result.
  explicit PerformanceModel(const std::function<void()>& wake);

  /// Shows another run, starting with its whole range.
  void set_run(RecordedRunPointer run, std::uint64_t generation);
  void set_range(std::optional<plot::Range> range);
  void set_lanes(plot::LaneChoice choice);
  void set_source(std::size_t index);
  /// Takes in the results of the background threads; true when something has changed.
  bool take();
  /// Updates rows and bars from what was taken in; call before drawing. If that fails, there is
  /// nothing to draw.
  void lay_out(const Theme& theme);

  /// Generation of the run requested last.
  std::uint64_t generation() const { return generation_; }
  /// There is something to draw. False only until the first run has been derived.
  bool ready() const { return lanes_ != nullptr && range_ != nullptr; }
  /// What is drawn does not match the run, range or choice requested last.
  bool deriving() const {
    return run_task_.running() || range_task_.running() || lane_task_.running();
  }
  plot::LaneChoice lane_choice() const { return choice_; }

  /// Changes with everything that is drawn: a run, a range, a choice of lanes.
  std::uint64_t derived() const { return derived_; }

  // All of these require ready().
  const std::shared_ptr<const RunPicture>& shared_picture() const { return lanes_->run; }
  const profiling::RecordedRun& run() const { return *lanes_->run->run; }
  const RunPicture& picture() const { return *lanes_->run; }
  /// Identifies the contents of the table: changes with the run and the range.
  std::uint64_t table_generation() const { return table_generation_; }
  const plot::TimelineLanes& lanes() const { return lanes_->lanes; }
  const IterationSeries& iterations() const { return picture().iterations; }
  const std::vector<StageSum>& stage_sums() const { return range_->stage_sums; }
  double total_ns() const { return range_->total_ns; }
  const std::optional<profiling::GapSummary>& gaps() const { return range_->gaps; }
  std::size_t records_in_range() const { return range_->records; }
  const plot::DrawnTable& kernels_table() const { return kernels_; }
  const plot::DrawnTable& operations_table() const { return operations_; }
  const std::vector<profiling::KernelSummary>& kernels() const { return range_->kernels; }
  /// What the kernels with the largest sum of the whole run achieve, and what limits them; empty =
  /// it has none.
  const std::string& longest_kernels() const { return longest_kernels_; }
  /// Durations of one row of the table; -1 = the row with the largest sum.
  const plot::Bins& row_bins(int row) const;
  /// Source of the times of experts: first the records of the timed iterations, which follow the
  /// range, then separate measurements.
  struct ExpertSource {
    engine::ExpertMethod method = engine::ExpertMethod::Trace;
    engine::Stage stage = engine::Stage::Fprop;
    engine::WrittenValue writes = engine::WrittenValue::Unknown;
    bool operator==(const ExpertSource&) const = default;
  };
  std::size_t source_count() const;
  /// Records of the timed iterations name experts, or stamped launches do for some of them: one
  /// lane per expert can be drawn.
  bool has_expert_lanes() const {
    return !picture().expert_stages.empty() || !picture().stamped.empty();
  }
  ExpertSource source(std::size_t index) const;
  std::size_t source_index() const { return source_index_; }
  const std::vector<profiling::ExpertTime>& experts() const { return experts_of(source_index_); }
  /// Median over the experts of this source's time relative to that of another method for the same
  /// stage. Empty if there is no other.
  struct Agreement {
    ExpertSource other;
    profiling::Distribution ratio;
  };
  const std::vector<Agreement>& agreements() const { return agreements_; }
  const std::vector<plot::Bar>& expert_bars() const { return expert_bars_; }

 private:
  struct RunDerivations {
    std::shared_ptr<const LanePicture> lanes;
    std::shared_ptr<const RangePicture> range;
    std::vector<profiling::OperationPoint> points;
    std::string sentence;
  };

  // True if there is one.
  bool show(std::optional<RunDerivations> made);
  bool show(std::optional<std::shared_ptr<const RangePicture>> made);
  bool show(std::optional<std::shared_ptr<const LanePicture>> made);
  void lay_out_all(const Theme& theme);
  void lay_out_experts(const Theme& theme);
  void compare_methods();
  /// The chosen source if this run has it, else the source whose experts take most time.
  std::size_t source_to_show() const;
  const std::vector<profiling::ExpertTime>& experts_of(std::size_t source) const;

  std::uint64_t generation_ = 0;
  RecordedRunPointer wanted_run_;
  plot::LaneChoice choice_ = plot::LaneChoice::Streams;
  std::shared_ptr<const LanePicture> lanes_;
  std::shared_ptr<const RangePicture> range_;
  std::vector<profiling::OperationPoint> points_;
  std::string longest_kernels_;
  std::optional<ExpertSource> chosen_source_;  // kept from run to run
  std::size_t source_index_ = 0;

  std::uint64_t derived_ = 0;  // counts the results that have arrived
  std::uint64_t laid_out_ = 0;
  ThemeKind laid_out_theme_ = ThemeKind::Dark;
  std::size_t laid_out_source_ = 0;
  std::uint64_t table_generation_ = 0;
  plot::DrawnTable kernels_;
  plot::DrawnTable operations_;
  std::vector<plot::Bar> expert_bars_;
  std::vector<Agreement> agreements_;

  BackgroundTask<RunDerivations> run_task_;
  BackgroundTask<std::shared_ptr<const RangePicture>> range_task_;
  BackgroundTask<std::shared_ptr<const LanePicture>> lane_task_;
};

}  // namespace app
