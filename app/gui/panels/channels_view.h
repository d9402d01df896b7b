// Rows and columns of an operand: a profile along either axis, and the worst by name. From each a
// click leads to its largest element.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "app/gui/cards/card_board.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/plot/marks.h"
#include "profiling/document/channel_words.h"

namespace app {

/// What a profile shows of each channel.
enum class ChannelFigure { Amax, Snr, Saturated, Underflowed, Lost };

class ChannelsView {
 public:
  /// The region whose largest element the user wants to see.
  std::optional<OperandRegion> draw(const PanelContext& context, const Area& choices,
                                    const Area& area, const NumericsModel& model);
  /// Shows all cards again; false if none fills the view.
  bool close_front() { return board_.restore(); }

 private:
  void follow(const NumericsModel& model, const Theme& theme);
  void draw_choices(const PanelContext& context, const Area& area);
  CardSpec profile_card(const PanelContext& context, profiling::ChannelAxis axis);
  void draw_profile(const PanelContext& context, const Area& room, profiling::ChannelAxis axis);
  void draw_read_out(const PanelContext& context, profiling::ChannelAxis axis,
                     std::size_t cell) const;
  plot::Marks marks(const Theme& theme, profiling::ChannelAxis axis) const;
  CardSpec table_card(const PanelContext& context);
  /// All of the operand along the other axis.
  OperandRegion region_of(profiling::ChannelAxis axis, std::int64_t first,
                          std::int64_t count) const;
  const engine::ChannelProfile& profile(profiling::ChannelAxis axis) const {
    return profiling::profile_of(*channels_, axis);
  }

  // Of the model that was followed last; null = not measured.
  const engine::ChannelStatistics* channels_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t table_generation_ = 0;
  std::string operand_;
  std::string missing_;       // why there is nothing to show
  bool inspectable_ = false;  // a click leads to an element

  int figure_ = 0;  // ChannelFigure
  int axis_ = 0;    // of the table: ChannelAxis
  int list_ = 0;    // of the table: ChannelList
  plot::DrawnTable table_;
  plot::TableState table_state_;
  std::array<plot::PlotView, 2> views_;  // by ChannelAxis
  CardBoard board_;
  std::optional<OperandRegion> wanted_;  // in this frame
};

}  // namespace app
