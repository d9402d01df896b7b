// Accuracy against time over a sweep: axes, progress, the points, and which of them are on the
// frontier.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/cards/card_board.h"
#include "app/gui/compare/number_fields.h"
#include "app/gui/plot/drawn_table.h"
#include "app/gui/plot/plot_frame.h"
#include "profiling/compare/sweep_points.h"

namespace app {

/// The user made a point A or B.
struct FrontierWish {
  std::shared_ptr<const profiling::RecordedRun> run;
  bool make_a = false;
};

/// A combination of the axes that cannot run.
struct Refusal {
  std::string run;  // its name
  std::string reason;
};
/// "9 refused, 5 of them: MXFP8 needs ...": the first reason, and how many share it. Not empty.
std::string refused_text(const std::vector<Refusal>& refusals);

class FrontierView {
 public:
  /// The page uses the first `taken_left` pixels of the first row.
  std::optional<FrontierWish> draw(const PanelContext& context, const Area& area, float taken_left);

  /// What is shown, in one line.
  PageSubject subject() const;
  /// Shows all cards again; false if none fills the view.
  bool close_front() { return board_.restore(); }

 private:
  void follow(const PanelContext& context);
  void make_points(const PanelContext& context);
  void plan(const PanelContext& context);
  struct Sweeps {
    std::vector<profiling::RunGroupMembers> groups;
    std::vector<std::string> titles;
  };
  static Sweeps sweeps_of(const SessionView& view);
  /// Of the file that holds the sweep; empty = it is of this window.
  static std::string recording_of(const profiling::RunGroupMembers& sweep, const SessionView& view);
  /// Points that can beat each other. Times of different work are not a choice between settings.
  struct Work {
    std::string name;  // "Rows 256"
    ImU32 color = 0;
  };
  /// What is shown of a sweep, run by run.
  struct Points {
    std::vector<profiling::SweepPoint> points;
    std::vector<std::shared_ptr<const profiling::RecordedRun>> runs;
    std::vector<std::string> names;
    std::vector<std::size_t> work_of;  // of every point: of works
    std::vector<Work> works;
    std::string recording;   // name of the file that it comes from; empty = this window
    plot::DrawnTable table;  // also of what this window planned and could not measure
  };
  /// What was selected or zoomed belongs to the sweep that was `shown`; another starts without.
  void keep_selection(std::int64_t shown, const Points& before);
  /// With several works, colours and names them; else green is the frontier.
  static void tell_works_apart(Points& made, const Theme& theme);
  Points points_of(const profiling::RunGroupMembers& sweep, const PanelContext& context) const;
  SweepAxes axes(const engine::RunRequest& request, const WorkerHello& hello) const;
  /// Returns the y below them.
  float draw_controls(const PanelContext& context, const Area& area, float taken_left);
  void draw_axes(const PanelContext& context, controls::Flow& flow);
  void draw_start(const PanelContext& context);
  TextLine plan_line(const PanelContext& context) const;
  /// Why a sweep cannot be started; empty = it can.
  std::string refusal(const engine::RunRequest& request) const;
  void start(const PanelContext& context);
  const std::string& running_name(const BatchStatus& batch);
  // frontier_plot.cpp
  CardTable table();
  CardSpec points_card(const PanelContext& context, const Area& area);
  CardSpec table_card();
  void draw_choices(const PanelContext& context, float sweeps, float snr);
  void draw_scatter(const PanelContext& context, ImVec2 size);
  float draw_works(const PanelContext& context, const Area& room) const;
  void draw_points(const PanelContext& context, const Area& room);
  std::optional<FrontierWish> draw_menu(const PanelContext& context);

  // The axes to vary.
  bool recipe_ = true;
  bool pow2_ = true;
  bool backend_ = false;
  bool workspace_ = false;
  bool routing_ = false;
  NumberFields numbers_;
  // The resulting plan; rebuilt when the request or an axis changes.
  engine::RunRequest planned_for_;
  SweepAxes planned_axes_;
  bool planned_ = false;
  SweepIterations iterations_;
  std::vector<Refusal> refusals_;
  std::string plan_error_;  // why there is no plan
  std::vector<std::string> planned_names_;
  std::vector<std::string> running_names_;  // of the rows of the sweep in progress
  std::int64_t named_sweep_ = 0;            // its id

  // Points of the sweep that is shown.
  Sweeps sweeps_;
  std::int64_t shown_ = 0;  // group id; 0 = the newest
  std::int64_t drawn_ = 0;  // group id of the sweep that this has led to; 0 = none
  bool median_snr_ = false;
  Points made_;
  std::uint64_t generation_ = 0;
  std::size_t count_ = 0;
  const void* last_run_ = nullptr;
  const void* batch_rows_ = nullptr;
  bool made_for_median_ = false;
  std::int64_t made_for_ = -1;
  bool made_for_file_ = false;
  ThemeKind made_for_theme_ = ThemeKind::Dark;
  plot::TableState table_;
  CardBoard board_;
  plot::PlotView view_;
  int menu_point_ = -1;     // the point whose menu is open
  bool open_menu_ = false;  // in this frame
  bool menu_shown_ = false;
};

}  // namespace app
