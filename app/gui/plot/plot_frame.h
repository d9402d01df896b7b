// The frame that every plot shares: axes, grid, zoom, pan, range selection, fit and read-out, so
// that the mouse means the same in every panel (wheel zooms at the cursor, right drag or Shift+drag
// pans, left drag selects, Ctrl+drag selects in addition to the previous selection, double or
// middle click or Home fits) and so do the keys.
#pragma once

#include <imgui.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/plot/kept_drawing.h"
#include "app/plot/range.h"
#include "app/plot/ticks.h"

namespace app::plot {

/// What a plot remembers between frames and across runs. `held` = the user zoomed: a newer run
/// keeps the view.
struct PlotView {
  Range x;
  bool held = false;
  std::optional<Range> selection;
  std::vector<Range>
      kept{};  // earlier ranges, set aside by Ctrl+drag: shown in addition to the selection
  std::optional<double> drag_start;
  ImGuiID dragged = 0;  // the plot in which a drag began: several may share a view
  struct Drawings {
    KeptDrawing axes;
    KeptDrawing data;
  };
  std::map<ImGuiID, Drawings> drawings{};  // for each of these plots
};

struct Axis {
  AxisKind kind = AxisKind::Number;
  std::string label{};  // with its unit; empty = no title
  Range limits{};
  bool ticks = true;
  Range fit{};  // shown after a double click, and first; empty = the limits
  Range
      first{};  // shown first instead, and after a double click that shows the limits; may be empty
};

/// What an axis shows before the user has moved the view.
Range shown_first(const Axis& axis);

struct FrameSpec {
  const char* id = "";
  ImVec2 size{};
  Axis x{};
  Axis y{};
  bool selectable = true;
  bool items = false;         // a middle click fits the item under it; else it fits everything
  double min_span = 1e-6;     // of x
  float left_margin = 0.0F;   // 0 = room for y labels
  float right_margin = 0.0F;  // 0 = a small gap
  float labels_apart = 0.0F;  // between y labels and the axis: room for what is drawn there
};

struct ReadOutLine {
  std::string label{};
  std::string value{};
  ImU32 color = 0;                                          // chip before the label; 0 = none
  double exact = std::numeric_limits<double>::quiet_NaN();  // copied instead of `value`
};

class PlotFrame {
 public:
  /// Lays out the axes, handles the input and opens the clip rectangle of the inner area.
  PlotFrame(const PanelContext& context, const FrameSpec& spec, PlotView& view);
  PlotFrame(const PlotFrame&) = delete;
  PlotFrame& operator=(const PlotFrame&) = delete;
  /// Draws the selection, closes the clip rectangle.
  ~PlotFrame();

  const AxisMap& x() const { return x_; }
  const AxisMap& y() const { return y_; }
  ImVec2 min() const { return min_; }
  ImVec2 max() const { return max_; }
  ImVec2 mouse() const { return mouse_; }
  ImDrawList* draw() const { return draw_; }
  /// For a plot whose data rarely change between frames.
  KeptDrawing& kept() const { return drawings_.data; }
  /// Between these two calls drawing may extend beyond the axes, as far as the card is visible.
  void open_clip() const { draw_->PopClipRect(); }
  void close_clip() const { draw_->PushClipRect(min_, max_, true); }
  bool hovered() const { return hovered_; }
  bool clicked() const { return clicked_; }                      // without a drag
  bool middle_clicked() const { return middle_clicked_; }        // to fit the item there
  bool selection_changed() const { return selection_changed_; }  // ended or cleared in this frame
  double hover_x() const { return x_.to_value(static_cast<double>(mouse_.x)); }

 private:
  /// The title is below the labels: it would take the place of more than one of them, and the
  /// plot is high enough.
  bool has_title_line(const FrameSpec& spec, float left_margin) const;
  void lay_out(const FrameSpec& spec);
  void take_input(const FrameSpec& spec);
  void end_drag(double at, Range limits, float moved);
  bool drop_ranges();
  void draw_range(Range range, float strength) const;
  void draw_axes(const FrameSpec& spec) const;
  void draw_y_axis(const FrameSpec& spec, ImU32 grid) const;
  void draw_x_axis(const FrameSpec& spec, ImU32 grid) const;
  struct XAxis {
    std::vector<Tick> ticks;
    double origin = 0.0;  // of their values
    std::string title;    // as drawn
    std::string whole_title;
    float title_start = 0.0F;
    bool below = false;   // the title has a line of its own
    bool covers = false;  // it takes the place of the last labels
  };
  XAxis x_axis(const FrameSpec& spec) const;
  /// The whole titles of the axes, over those that are cut.
  void explain_titles(const FrameSpec& spec) const;

  const PanelContext& context_;
  PlotView& view_;
  PlotView::Drawings& drawings_;
  ImDrawList* draw_;
  AxisKind x_kind_;
  AxisMap x_;
  AxisMap y_;
  ImVec2 min_;
  ImVec2 max_;
  ImVec2 outer_min_;
  ImVec2 outer_max_;
  ImVec2 mouse_;
  bool hovered_ = false;
  bool clicked_ = false;
  bool middle_clicked_ = false;
  bool selection_changed_ = false;
};

/// A tooltip of labelled values with the units right-aligned. Ctrl+C copies it, one line each.
void read_out(const PanelContext& context, const std::string& title,
              const std::vector<ReadOutLine>& lines);

}  // namespace app::plot
