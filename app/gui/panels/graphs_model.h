// What the Graphs page derives from a run: the node x replay matrix, its rows and the node
// list.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/panels/replay_checks.h"
#include "app/gui/panels/run_picture.h"
#include "app/gui/plot/drawn_table.h"
#include "app/plot/grid_fold.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace app {

/// How the cells of the heatmap are coloured.
enum class CellScale {
  AgainstMedian,  // duration over the median of its row: drift and outliers of any node
  Duration,       // log10 of nanoseconds: which nodes are long
};

/// Derived from all records of a run; built on a background thread and never changed.
struct ReplayPicture {
  std::shared_ptr<const profiling::RecordedRun> run;
  profiling::NodeMatrix matrix;
  struct Cells {
    plot::Grid grid;
    plot::Range colors;
  };
  Cells against_median;
  Cells duration;
  IterationSeries iterations;
  CheckSummary checks;
  CheckStrip check_strip;
  double timer_step_ns = 0.0;  // below it durations do not differ; 0 = not known
};
std::shared_ptr<const ReplayPicture> make_replay_picture(
    std::shared_ptr<const profiling::RecordedRun> run);

/// The step of a coarse timer, as of a GPU (32 ns), of which the short ones of these durations are
/// multiples; 0 = they do not show one.
double timer_step_ns(std::vector<float> durations);

class GraphsModel {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  /// `wake` is called from a background thread when take() would find a result.
  explicit GraphsModel(const std::function<void()>& wake) : task_(wake) {}
  void set_run(Run run, std::uint64_t generation);
  void set_scale(CellScale scale);
  bool take() { return show(task_.take()); }
  /// Builds labels and colours of what was taken in; call before drawing. If that fails, there is
  /// nothing to draw.
  void lay_out(const Theme& theme);

  bool ready() const { return picture_ != nullptr; }
  bool deriving() const { return task_.running(); }
  /// Generation of the run requested last.
  std::uint64_t generation() const { return generation_; }

  // All of these require ready().
  const profiling::RecordedRun& run() const { return *picture_->run; }
  std::uint64_t grid_generation() const { return grid_generation_; }
  /// The run replayed a captured graph.
  bool has_graph() const { return !run().activity.nodes.empty(); }
  const profiling::NodeMatrix& matrix() const { return picture_->matrix; }
  float duration_ns(int row, int column) const;
  double timer_step_ns() const { return picture_->timer_step_ns; }
  const plot::Grid& grid() const { return cells().grid; }
  plot::Range colors() const { return cells().colors; }
  const std::vector<std::string>& row_labels() const { return row_labels_; }
  const std::vector<ImU32>& row_colors() const { return row_colors_; }
  const std::vector<std::string>& row_margin() const { return row_margin_; }
  const IterationSeries& iterations() const { return picture_->iterations; }
  const CheckSummary& checks() const { return picture_->checks; }
  const CheckStrip& check_strip() const { return picture_->check_strip; }
  /// The nodes of the graph, or the pieces of work of a step without one.
  const plot::DrawnTable& nodes_table() const { return nodes_; }

 private:
  const ReplayPicture::Cells& cells() const {
    return scale_ == CellScale::Duration ? picture_->duration : picture_->against_median;
  }
  /// True if there is one.
  bool show(std::optional<std::shared_ptr<const ReplayPicture>> made);
  void lay_out_rows(const Theme& theme);

  std::uint64_t generation_ = 0;
  std::uint64_t grid_generation_ = 0;
  CellScale scale_ = CellScale::AgainstMedian;
  std::shared_ptr<const ReplayPicture> picture_;
  bool laid_out_ = false;
  ThemeKind laid_out_theme_ = ThemeKind::Dark;
  std::vector<std::string> row_labels_;
  std::vector<ImU32> row_colors_;
  std::vector<std::string> row_margin_;
  plot::DrawnTable nodes_;
  BackgroundTask<std::shared_ptr<const ReplayPicture>> task_;
};

}  // namespace app
