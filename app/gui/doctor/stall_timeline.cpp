#include "app/gui/doctor/stall_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/replay_board.h"
#include "app/gui/doctor/stall_rows.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/graph/node_details.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

using profiling::NodeState;

constexpr const char* kNotToScale =
    "In order, not to scale: a marker shows that a node has finished, not when.";
// Parts of the width after the names.
constexpr float kFinished = 0.5F;
constexpr float kDeadline = 0.8F;
constexpr float kAround = 52.0F;  // grid pixels: the card's title and padding
constexpr float kRow = 17.0F;     // grid pixels
constexpr float kBoard = 24.0F;   // grid pixels; one row of squares

struct StallDrawing {
  const PanelContext& context;
  const GraphScene& scene;
  const profiling::Stall& stall;
  const profiling::GraphSnapshot* graph;  // null = not known
  Area plot;                              // right of the names
  float names;                            // left edge of the names
  int finished;                           // rows
};

std::string_view words_of(NodeState state) {
  switch (state) {
    case NodeState::Done:
      return "finished";
    case NodeState::Running:
      return "running";
    case NodeState::NotReached:
      return "never started";
    case NodeState::Unmarked:
      return "without a marker";
  }
  return "";
}

std::string name_of_row(const StallDrawing& drawing, const StallRow& row) {
  if (row.node < 0) {
    return fmt::format("{} nodes {}", plot::count_text(static_cast<std::size_t>(row.count)),
                       words_of(row.state));
  }
  if (drawing.graph == nullptr) return fmt::format("node {}", row.node);
  const bool shown = drawing.stall.graph == drawing.scene.graph_index();
  return node_title(drawing.scene.step(), *drawing.graph, row.node,
                    shown ? drawing.scene.facts() : nullptr);
}

void draw_hatched(ImDrawList* draw, const Theme& theme, ImVec2 low, ImVec2 high) {
  const ImU32 color = theme.colors.dim_text;
  draw->PushClipRect(low, high, true);
  const float height = high.y - low.y;
  for (float x = low.x - height; x < high.x; x += theme.px(6)) {
    draw->AddLine(ImVec2(x, high.y), ImVec2(x + height, low.y), plot::faded(color, 0.5F));
  }
  draw->PopClipRect();
  draw->AddRect(low, high, color, theme.px(2));
}

ImU32 bar_color(const StallDrawing& drawing, const StallRow& row) {
  const Theme& theme = drawing.context.theme;
  if (row.node < 0 || drawing.graph == nullptr) return theme.colors.good;
  return theme.stage(drawing.graph->nodes[static_cast<std::size_t>(row.node)].stage);
}

void draw_bar(const StallDrawing& drawing, const StallRow& row, float top, float bottom) {
  const Theme& theme = drawing.context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float left = drawing.plot.at.x;
  const float width = drawing.plot.size.x;
  const float deadline = left + kDeadline * width;
  // Without finished nodes the running ones began with the replay.
  const float began = drawing.finished == 0 ? left : left + kFinished * width;
  switch (row.state) {
    case NodeState::Done: {
      const float part = kFinished * width / static_cast<float>(drawing.finished);
      const float x = left + part * static_cast<float>(row.place);
      draw->AddRectFilled(ImVec2(x, top), ImVec2(x + std::max(part - 1.0F, 2.0F), bottom),
                          bar_color(drawing, row), theme.px(2));
      return;
    }
    case NodeState::Running: {
      draw->AddRectFilled(ImVec2(began, top), ImVec2(deadline, bottom), theme.colors.warn);
      // It has no end: it fades out behind the deadline.
      const ImU32 none = plot::faded(theme.colors.warn, 0.0F);
      draw->AddRectFilledMultiColor(ImVec2(deadline, top), ImVec2(left + width, bottom),
                                    theme.colors.warn, none, none, theme.colors.warn);
      return;
    }
    case NodeState::NotReached:
      draw_hatched(draw, theme, ImVec2(deadline + theme.px(6), top), ImVec2(left + width, bottom));
      return;
    case NodeState::Unmarked:
      draw->AddLine(ImVec2(left, 0.5F * (top + bottom)),
                    ImVec2(left + width, 0.5F * (top + bottom)), theme.colors.line, theme.px(1));
      return;
  }
}

/// Returns the clicked node, -1 = none.
int draw_row(const StallDrawing& drawing, const StallRow& row, std::size_t number, float top,
             float height) {
  const Theme& theme = drawing.context.theme;
  const ImFont* font = theme.fonts.label;
  const ImVec2 low(drawing.names, top);
  const ImVec2 high(drawing.plot.end().x, top + height);
  ImGui::SetCursorScreenPos(low);
  ImGui::PushID(static_cast<int>(number));
  const bool clicked =
      ImGui::InvisibleButton("##row", ImVec2(high.x - low.x, std::max(height, 1.0F)));
  ImGui::PopID();
  const std::string name = name_of_row(drawing, row);
  const bool hovered = ImGui::IsItemHovered() && row.node >= 0;
  if (hovered) ImGui::GetWindowDrawList()->AddRectFilled(low, high, theme.colors.raised);
  const std::string shown = plot::fitted(font, name, drawing.plot.at.x - low.x - theme.px(kGap));
  const ImVec2 words(low.x, 0.5F * (low.y + high.y - font->FontSize));
  plot::draw_text(ImGui::GetWindowDrawList(), font, words,
                  row.state == NodeState::Running ? theme.colors.warn : theme.colors.text, shown);
  if (!hovered) {
    plot::explain_cut(drawing.context, shown, name, words,
                      ImVec2(drawing.plot.at.x, words.y + font->FontSize));
  }
  draw_bar(drawing, row, low.y + theme.px(2), high.y - theme.px(2));
  if (hovered) controls::tooltip(drawing.context, fmt::format("{}: {}", name, words_of(row.state)));
  controls::record(drawing.context, fmt::format("doctor.stall_row.{}", number).c_str(),
                   name.c_str(), "option", std::string(words_of(row.state)), low, high);
  return clicked ? row.node : -1;
}

void draw_deadline(const StallDrawing& drawing, float top, float bottom) {
  const Theme& theme = drawing.context.theme;
  const ImFont* font = theme.fonts.label;
  const float x = drawing.plot.at.x + kDeadline * drawing.plot.size.x;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const std::string text = fmt::format("deadline {:.3g} s", drawing.stall.deadline_seconds);
  plot::draw_text(draw, font, ImVec2(x - 0.5F * plot::text_size(font, text).x, top),
                  theme.colors.bad, text);
  draw->AddLine(ImVec2(x, top + font->FontSize), ImVec2(x, bottom), theme.colors.bad, theme.px(2));
}

void draw_stall(const PanelContext& context, const Area& room, GraphScene& scene,
                const profiling::Stall& stall) {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const float line = font->FontSize + theme.px(kGapSmall);
  const float row = theme.px(kRow);
  const float names = std::min(theme.px(300), 0.4F * room.size.x);
  const float board = theme.px(kBoard);
  const float bottom = room.end().y - board - theme.px(kGapSmall) - line;
  const float top = room.at.y + line;
  const auto fits = static_cast<std::size_t>(std::max(bottom - top, 0.0F) / row);
  const std::vector<StallRow> rows = stall_rows(stall.nodes, fits);
  const auto& graphs = scene.report()->snapshot.graphs;
  const auto index = static_cast<std::size_t>(stall.graph);
  const bool known = index < graphs.size() && graphs[index].nodes.size() == stall.nodes.size();
  const StallDrawing drawing{
      .context = context,
      .scene = scene,
      .stall = stall,
      .graph = known ? &graphs[index] : nullptr,
      .plot = {ImVec2(room.at.x + names, room.at.y), ImVec2(room.size.x - names, room.size.y)},
      .names = room.at.x,
      .finished = static_cast<int>(std::ranges::count(rows, NodeState::Done, &StallRow::state))};
  int clicked = -1;
  float y = top;
  for (std::size_t i = 0; i < rows.size(); ++i, y += row) {
    clicked = std::max(clicked, draw_row(drawing, rows[i], i, y, row));
  }
  draw_deadline(drawing, room.at.y, y);
  plot::draw_fitted(context, font, ImVec2(room.at.x, y + theme.px(2)), theme.colors.dim_text,
                    kNotToScale, room.size.x);
  // What is left of the marker board: its squares alone would say nothing.
  const BoardCount count = count_board(stall.nodes);
  std::string squares = fmt::format("a square for each node: {} finished", count.done);
  if (count.running > 0) squares += fmt::format(", {} running", count.running);
  if (count.not_reached > 0) squares += fmt::format(", {} never started", count.not_reached);
  plot::draw_fitted(context, font, ImVec2(room.at.x, y + line + theme.px(2)), theme.colors.dim_text,
                    squares, names - theme.px(kGap));
  ImGui::SetCursorScreenPos(ImVec2(drawing.plot.at.x, y + line));
  const bool shown = known && stall.graph == scene.graph_index();
  clicked =
      std::max(clicked, draw_board(context, "##doctor.stalled", ImVec2(drawing.plot.size.x, board),
                                   stall.nodes, shown ? &scene : nullptr));
  if (clicked >= 0 && known) show_node(context, scene, {.graph = stall.graph, .node = clicked});
}

}  // namespace

const profiling::ExperimentRecord* hung_experiment(const profiling::DoctorReport& report,
                                                   int chosen) {
  const auto hung = [](const profiling::ExperimentRecord& record) {
    if (record.outcome.stall.empty()) return false;
    const profiling::Stall& stall = record.outcome.stall.front();
    return !stall.nodes.empty() || !stall.core_dump.empty();
  };
  const auto& all = report.experiments;
  const auto index = static_cast<std::size_t>(chosen);
  if (chosen >= 0 && index < all.size() && hung(all[index])) return &all[index];
  const auto found = std::ranges::find_if(all, hung);
  return found == all.end() ? nullptr : &*found;
}

float stall_card_height(const Theme& theme, const profiling::ExperimentRecord& hung) {
  const std::size_t rows = stall_rows(hung.outcome.stall.front().nodes, 0).size();
  const float line = theme.fonts.label->FontSize + theme.px(kGapSmall);
  return theme.px(kAround + kRow * static_cast<float>(rows) + kBoard) + 2.0F * line;
}

CardSpec stall_card(const PanelContext& context, GraphScene& scene,
                    const profiling::ExperimentRecord& hung) {
  const profiling::Stall& stall = hung.outcome.stall.front();
  return {.id = "doctor.stall_card",
          .title = "The hung replay",
          .question =
              "Which nodes had finished at the deadline, where does it stand, and what was "
              "never started?",
          .note = fmt::format("{}, replay {}", hung.title, stall.replay),
          .measured =
              "A marker after every kernel writes to host memory, which is read without a "
              "CUDA call. It says that a node has finished, not when: finished nodes are "
              "in the order of the capture, and only the deadline is a time.",
          .text = [&scene, &stall] { return stall_text(scene.report()->snapshot, stall) + "\n"; },
          .draw = [&context, &scene,
                   &stall](const Area& room) { draw_stall(context, room, scene, stall); },
          .read_out = {.id = "doctor.stall_timeline", .label = kNotToScale, .value = [&stall] {
                         const BoardCount count = count_board(stall.nodes);
                         return fmt::format(
                             "finished={};running={};never_started={};unmarked={};deadline_s={:g}",
                             count.done, count.running, count.not_reached, count.unmarked,
                             stall.deadline_seconds);
                       }}};
}

}  // namespace app
