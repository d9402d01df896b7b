// Notes pinned to ranges of the timeline: a strip above the plot, a list, and the words of one.
// M marks the selected range for a while, Shift+M keeps a note on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "app/gui/view.h"
#include "profiling/session/time_note.h"

namespace app {

class TimeNotes {
 public:
  /// Takes the keys; the height that the strip needs above the plot, 0 = it has nothing to show.
  float prepare(const PanelContext& context, plot::PlotView& view);
  /// `min`, `max`: the inner area of the plot below, in window pixels; the strip ends at min.y.
  /// True when the view's selection was changed.
  bool draw(const PanelContext& context, ImVec2 min, ImVec2 max, plot::PlotView& view);
  /// Another run: marks and open words mean nothing any more.
  void forget();

 private:
  void take_keys(const PanelContext& context, const plot::PlotView& view);
  void take_numbers(const PanelContext& context, plot::PlotView& view);
  /// Of all notes, the earliest first: where each begins and which it is.
  using Begins = std::vector<std::pair<std::int64_t, std::size_t>>;
  void draw_note(const PanelContext& context, const plot::AxisMap& x, ImVec2 strip_min,
                 ImVec2 strip_max, const Begins& begins, std::size_t index);
  void draw_list(const PanelContext& context, plot::PlotView& view, bool& moved);
  void draw_words(const PanelContext& context);
  void edit(const PanelContext& context, std::size_t index);
  void put(const PanelContext& context, std::vector<profiling::TimeNote> notes);

  std::optional<plot::Range> mark_;
  std::array<std::optional<plot::Range>, 10> kept_views_;  // by digit; they outlive a run
  std::optional<std::size_t> edited_;                      // of the notes; their number = a new one
  profiling::TimeNote words_;                              // being typed
  std::optional<std::size_t> clicked_;
  bool open_words_ = false;
};

}  // namespace app
