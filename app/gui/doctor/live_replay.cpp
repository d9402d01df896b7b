#include "app/gui/doctor/live_replay.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/board_strip.h"
#include "app/gui/doctor/doctor_words.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

// Ordinary replays take less; a board that came and went would only flicker.
constexpr std::chrono::milliseconds kWorthShowing{250};
constexpr std::chrono::seconds kBetweenClocks{1};

}  // namespace

bool LiveReplay::follow(const LinkStatus& link) {
  const bool busy = link.state == LinkState::Busy && link.pulse.replay > 0;
  if (!busy) {
    pulse_ = {};
    return false;
  }
  if (pulse_.replay != link.pulse.replay || pulse_.board != link.pulse.board) {
    moved_at_ = Clock::now();
  }
  pulse_.replay = link.pulse.replay;
  pulse_.board = link.pulse.board;
  pulse_.device = link.pulse.device;
  return under_way() && Clock::now() - moved_at_ >= kWorthShowing;
}

bool LiveReplay::tick() {
  if (!under_way() || Clock::now() - moved_at_ < kWorthShowing) return false;
  return drawn_at_ < moved_at_ || Clock::now() - drawn_at_ >= kBetweenClocks;
}

void LiveReplay::draw(const PanelContext& context, const Area& area,
                      const profiling::GraphSnapshot* graph) {
  drawn_at_ = Clock::now();
  ImGui::SetCursorScreenPos(area.at);
  const bool fits = graph != nullptr && graph->nodes.size() == pulse_.board.size();
  std::string text = board_text(fits ? graph : nullptr, pulse_.replay, pulse_.board);
  const double still = std::chrono::duration<double>(drawn_at_ - moved_at_).count();
  if (still >= 1.0) text += fmt::format("; nothing has finished for {:.0f} s", still);
  if (!pulse_.device.empty()) text += "; " + pulse_.device;
  Card card(context,
            {.id = "replays.live_card",
             .title = "Replay under way",
             .question = "How far is the replay?",
             .measured = "A marker after every node writes to host memory, which is read without a "
                         "CUDA call. At its deadline the replay counts as stalled.",
             .text = [text] { return text; }},
            area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + room.x);
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.colors.warn);
  show_text(text);
  ImGui::PopStyleColor();
  ImGui::PopTextWrapPos();
  controls::record(context, "replays.live", "replay under way", "text", text, at,
                   ImGui::GetItemRectMax());
  draw_board(context, "##replays.board", ImGui::GetContentRegionAvail(), pulse_.board,
             fits ? graph : nullptr);
}

}  // namespace app
