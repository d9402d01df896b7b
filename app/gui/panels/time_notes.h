// Notes pinned to ranges of the timeline: a strip above the plot, a list, and a text editor. M
// marks the selected range temporarily, Shift+M attaches a note to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/plot/plot_frame.h"
#include "profiling/session/time_note.h"

namespace app {

class TimeNotes {
 public:
  /// Handles the keys; returns the height that the strip needs above the plot, 0 = nothing to show.
  float prepare(const PanelContext& context, plot::PlotView& view);
  /// `min`, `max`: the inner area of the plot below, in window pixels; the strip ends at min.y.
  /// True when the view's selection was changed.
  bool draw(const PanelContext& context, ImVec2 min, ImVec2 max, plot::PlotView& view);
  /// For another run: marks and an open note become invalid.
  void forget();

 private:
  void take_keys(const PanelContext& context, const plot::PlotView& view);
  void take_numbers(const PanelContext& context, plot::PlotView& view);
  /// All notes, earliest first: start and index.
  using Begins = std::vector<std::pair<std::int64_t, std::size_t>>;
  void draw_note(const PanelContext& context, const plot::AxisMap& x, ImVec2 strip_min,
                 ImVec2 strip_max, const Begins& begins, std::size_t index);
  void draw_list(const PanelContext& context, plot::PlotView& view, bool& moved);
  void draw_words(const PanelContext& context);
  void edit(const PanelContext& context, std::size_t index);
  void put(const PanelContext& context, std::vector<profiling::TimeNote> notes);

  std::optional<plot::Range> mark_;
  std::array<std::optional<plot::Range>, 10> kept_views_;  // by digit; they outlive a run
  std::optional<std::size_t> edited_;  // index into the notes; their number = a new one
  profiling::TimeNote words_;          // the one being typed
  std::optional<std::size_t> clicked_;
  bool open_words_ = false;
};

}  // namespace app
