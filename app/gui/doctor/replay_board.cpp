#include "app/gui/doctor/replay_board.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/check_rows.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

ImU32 state_color(const Theme& theme, profiling::NodeState state) {
  switch (state) {
    case profiling::NodeState::Done:
      return theme.colors.good;
    case profiling::NodeState::Running:
      return theme.colors.warn;
    case profiling::NodeState::NotReached:
      return theme.colors.line;
    case profiling::NodeState::Unmarked:
      return plot::faded(theme.colors.line, 0.4F);
  }
  return theme.colors.line;
}

// Ordinary replays take less; a board that came and went would only flicker.
constexpr std::chrono::milliseconds kWorthShowing{250};
constexpr std::chrono::seconds kBetweenClocks{1};

}  // namespace

int draw_board(const PanelContext& context, const char* id, ImVec2 size,
               const std::vector<profiling::NodeState>& board, const GraphScene* scene) {
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(id, ImVec2(std::max(size.x, 1.0F), std::max(size.y, 1.0F)));
  if (board.empty()) return -1;
  const auto n = static_cast<float>(board.size());
  const float side = std::clamp(std::sqrt(size.x * size.y / n) - 1.0F, 2.0F, theme.px(22));
  const int across = std::max(1, static_cast<int>(size.x / side));
  const float apart = side > 5.0F ? theme.px(2) : 0.0F;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  int clicked = -1;
  for (std::size_t i = 0; i < board.size(); ++i) {
    const float x = at.x + side * static_cast<float>(static_cast<int>(i) % across);
    const float y = at.y + side * static_cast<float>(static_cast<int>(i) / across);
    if (y + side > at.y + size.y + 1.0F) break;
    const ImVec2 low(x, y);
    const ImVec2 high(x + side - apart, y + side - apart);
    draw->AddRectFilled(low, high, state_color(theme, board[i]), side > 8.0F ? theme.px(2) : 0.0F);
    if (!ImGui::IsItemHovered() || !ImGui::IsMouseHoveringRect(low, ImVec2(x + side, y + side))) {
      continue;
    }
    const std::string name = scene == nullptr
                                 ? fmt::format("node {}", i)
                                 : node_title(scene->step(), *scene->graph(), static_cast<int>(i));
    controls::tooltip(context, fmt::format("{}: {}", name, profiling::name_of(board[i])));
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) clicked = static_cast<int>(i);
  }
  const BoardCount count = count_board(board);
  controls::record(context, "doctor.board", "nodes of the replay in progress", "plot",
                   fmt::format("done={};running={};not_reached={}", count.done, count.running,
                               count.not_reached),
                   at, ImVec2(at.x + size.x, at.y + size.y));
  return clicked;
}

namespace {

ImU32 equal_color(const Theme& theme) { return plot::faded(theme.colors.good, 0.8F); }

}  // namespace

std::vector<KeyEntry> checks_key(const Theme& theme) {
  return {{"equal to the eager launches, bit for bit", equal_color(theme)},
          {"different", theme.colors.bad}};
}

void draw_checks_grid(const PanelContext& context, const char* id, ImVec2 size,
                      const profiling::Outcome& outcome) {
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(id, ImVec2(std::max(size.x, 1.0F), std::max(size.y, 1.0F)));
  int replays = 0;
  for (const profiling::OutputCheck& check : outcome.checks) {
    replays = std::max(replays, check.replay);
  }
  if (replays <= 0) return;
  const float label = std::min(theme.px(96), 0.35F * size.x);
  const float width = std::min((size.x - label) / static_cast<float>(replays), theme.px(64));
  const std::vector<CheckRow> rows = check_rows(outcome.checks, size.y, theme.px(16));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  for (const profiling::OutputCheck& check : outcome.checks) {
    const CheckRow& row = *std::ranges::find(rows, check.output, &CheckRow::output);
    const float top = at.y + row.top;
    const int parts = std::max(check.parts, 1);
    const float x = at.x + label + width * static_cast<float>(check.replay - 1);
    const ImVec2 low(x, top);
    const float part_height = row.height / static_cast<float>(parts);
    const ImVec2 high(x + width - 1.0F, top + row.height - 1.0F);
    draw->AddRectFilled(low, high, equal_color(theme));
    for (const int part : check.wrong_parts) {
      if (part < 0 || part >= parts) continue;
      const float y = top + part_height * static_cast<float>(part);
      draw->AddRectFilled(ImVec2(low.x, y),
                          ImVec2(high.x, std::max(y + 1.0F, y + part_height - 1.0F)),
                          theme.colors.bad);
    }
    if (check.replay == 1) {
      plot::draw_fitted(context, font, ImVec2(at.x, 0.5F * (top + high.y) - 0.5F * font->FontSize),
                        theme.colors.dim_text, check.output, label - theme.px(4));
    }
    if (ImGui::IsItemHovered() && ImGui::IsMouseHoveringRect(low, high)) {
      controls::tooltip(
          context,
          check.wrong_parts.empty()
              ? fmt::format("{}, replay {}: equal", check.output, check.replay)
              : fmt::format("{}, replay {}: {} of {} parts differ: {}", check.output, check.replay,
                            check.wrong_parts.size(), parts, fmt::join(check.wrong_parts, ", ")));
    }
  }
}

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
  return in_progress() && Clock::now() - moved_at_ >= kWorthShowing;
}

bool LiveReplay::tick() {
  if (!in_progress() || Clock::now() - moved_at_ < kWorthShowing) return false;
  return drawn_at_ < moved_at_ || Clock::now() - drawn_at_ >= kBetweenClocks;
}

void LiveReplay::draw(const PanelContext& context, const Area& area, const GraphScene& scene) {
  drawn_at_ = Clock::now();
  const profiling::GraphSnapshot* graph = scene.graph();
  const bool fits = graph != nullptr && graph->nodes.size() == pulse_.board.size();
  std::string text = board_text(scene.step(), fits ? graph : nullptr, pulse_.replay, pulse_.board);
  const double still = std::chrono::duration<double>(drawn_at_ - moved_at_).count();
  if (still >= 1.0) text += fmt::format("; nothing has finished for {:.0f} s", still);
  if (!pulse_.device.empty()) text += "; " + pulse_.device;
  draw_card(context, area,
            {.id = "replays.live_card",
             .title = "Replay in progress",
             .question = "How far is the replay?",
             .measured = "A marker after every node writes to host memory, which is read without a "
                         "CUDA call. At its deadline the replay counts as stalled.",
             .text = [text] { return text; },
             .draw =
                 [&](const Area& room) {
                   {
                     const TextColorScope color(context.theme.colors.warn);
                     show_wrapped(text);
                   }
                   controls::record(context, "replays.live", "replay in progress", "text", text,
                                    room.at, ImGui::GetItemRectMax());
                   draw_board(context, "##replays.board", ImGui::GetContentRegionAvail(),
                              pulse_.board, fits ? &scene : nullptr);
                 }});
}

}  // namespace app
