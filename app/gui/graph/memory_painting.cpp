// The drawing of the memory map: where its columns are, their titles, a row, the key of its
// colours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/graph/memory_view.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr float kNarrow = 520.0F;  // grid pixels: shorter titles leave room for the nodes
constexpr const char* kByProgram = "by program";
constexpr float kSign = 10.0F;  // grid pixels, of the mark of what a finding names

}  // namespace

MemoryView::Columns MemoryView::columns_of(const Theme& theme, const GraphScene& scene, float left,
                                           float width) {
  const float label_room = std::min(theme.px(330), 0.34F * width);
  Columns columns;
  columns.label = left;
  columns.bytes = left + label_room;
  columns.life = columns.bytes + theme.px(kGapLarge);
  if (scene.compared()) {
    const ImFont* font = theme.fonts.label;
    columns.by_replays_title = width < theme.px(kNarrow) ? "by replays" : "changed by replays";
    columns.by_replays = columns.life + plot::text_size(font, columns.by_replays_title).x;
    columns.by_program =
        columns.by_replays + theme.px(kGapLarge) + plot::text_size(font, kByProgram).x;
    columns.life = columns.by_program + theme.px(kGapLarge);
  }
  columns.cells = columns.life + std::min(theme.px(80), 0.08F * width) + theme.px(kGapLarge);
  columns.end = left + width - theme.px(14);
  return columns;
}

float MemoryView::titles_height(const Theme& theme, const GraphScene& scene) {
  return theme.fonts.label->FontSize +
         theme.px(scene.chosen_finding() != nullptr ? kSign + kGapSmall : kGapSmall);
}

float MemoryView::x_of(double node, const Columns& columns) const {
  return columns.cells +
         static_cast<float>((node - first_) / (last_ - first_)) * (columns.end - columns.cells);
}

void MemoryView::draw_titles(const PanelContext& context, const GraphScene& scene,
                             const Columns& columns, float y) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  const ImU32 color = theme.colors.dim_text;
  plot::draw_text(draw, font, ImVec2(columns.label, y), color, "memory (role)");
  plot::draw_text_right(draw, font, ImVec2(columns.bytes, y), color, "size");
  if (columns.by_replays > 0.0F) {
    plot::draw_text_right(draw, font, ImVec2(columns.by_replays, y), color,
                          columns.by_replays_title);
    plot::draw_text_right(draw, font, ImVec2(columns.by_program, y), color, kByProgram);
  }
  plot::draw_fitted(context, font, ImVec2(columns.life, y), color, "lifetime",
                    columns.cells - columns.life);
  const std::string first = fmt::format("node {:.0f}", std::max(0.0, std::ceil(first_)));
  const int last = static_cast<int>(std::floor(last_));
  plot::draw_text(draw, font, ImVec2(columns.cells, y), color, first);
  float right = columns.end;
  if (!scene.of_chosen_finding(last)) {  // else its number is drawn above its column
    plot::draw_text_right(draw, font, ImVec2(right, y), color, std::to_string(last));
    right -= plot::text_size(font, std::to_string(last)).x + theme.px(kGapSmall);
  }
  draw_named_nodes(context, scene, columns, y,
                   columns.cells + plot::text_size(font, first).x + theme.px(kGapSmall), right);
}

/// A sign above the column of each node that the finding names, and its number where there is room
/// between `left` and `right`.
void MemoryView::draw_named_nodes(const PanelContext& context, const GraphScene& scene,
                                  const Columns& columns, float y, float left, float right) const {
  const profiling::Finding* finding = scene.chosen_finding();
  if (finding == nullptr) return;
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  float signed_to = columns.cells;
  for (const profiling::NodeRef& node : finding->nodes) {
    if (node.graph != scene.graph_index()) continue;
    const float x = x_of(node.node, columns);
    const float side = theme.px(kSign);
    if (x < signed_to || x > columns.end) continue;
    draw_warning(draw, theme, ImVec2(x - 0.5F * side, y + font->FontSize + theme.px(1)), side);
    signed_to = x + side;
    const std::string number = std::to_string(node.node);
    const float half = 0.5F * plot::text_size(font, number).x;
    if (x - half < left || x + half > right) continue;
    plot::draw_text_centered(draw, font, ImVec2(x, y), theme.colors.text, number);
    left = x + half + theme.px(kGapSmall);
  }
}

void MemoryView::draw_row(const PanelContext& context, const GraphScene& scene,
                          const MemoryRow& row, const Columns& columns, float y,
                          float height) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  const engine::Allocation& memory = scene.memory_of(row);
  const float text_y = y + 0.5F * (height - font->FontSize);
  float x = columns.label;
  if (scene.names_memory(row.allocation)) {
    const float side = theme.px(kSign);
    draw->AddRectFilled(ImVec2(columns.label - theme.px(2), y),
                        ImVec2(columns.bytes + theme.px(4), y + height - 1.0F), theme.colors.raised,
                        theme.px(2));
    draw_warning(draw, theme, ImVec2(x, y + 0.5F * (height - 1.0F - side)), side);
    x += side + theme.px(kGapSmall);
  }
  const std::string size = bytes_text(memory.bytes);
  const float label_end = columns.bytes - plot::text_size(font, size).x - theme.px(kGap);
  plot::draw_text(draw, font, ImVec2(x, text_y),
                  row.red                        ? theme.colors.bad
                  : engine::foreign(memory.role) ? theme.colors.dim_text
                                                 : theme.colors.text,
                  plot::fitted(font,
                               fmt::format("{} ({})", profiling::allocation_name(memory),
                                           profiling::name_of(memory.role)),
                               label_end - x));
  plot::draw_text_right(draw, font, ImVec2(columns.bytes, text_y), theme.colors.dim_text, size);
  draw_changes(context, row, columns, text_y);
  draw_lifetime(context, scene, memory, columns, y, height);
  draw_cells(context, scene, row, columns, y, height);
}

void MemoryView::draw_changes(const PanelContext& context, const MemoryRow& row,
                              const Columns& columns, float y) const {
  if (columns.by_replays <= 0.0F) return;
  const Palette& colors = context.theme.colors;
  const profiling::MemoryChanges& found = row.changes;
  const auto draw = [&](float right, const std::string& text, bool changed) {
    plot::draw_text_right(ImGui::GetWindowDrawList(), context.theme.fonts.label, ImVec2(right, y),
                          changed ? colors.text : colors.dim_text, text.empty() ? "-" : text);
  };
  draw(columns.by_replays, by_replays_text(found), found.by_replays > 0);
  draw(columns.by_program, by_program_text(found), found.by_program > 0);
}

void MemoryView::draw_lifetime(const PanelContext& context, const GraphScene& scene,
                               const engine::Allocation& memory, const Columns& columns, float y,
                               float height) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const profiling::Snapshot& snapshot = scene.report()->snapshot;
  const float life_end = columns.cells - theme.px(kGapLarge);
  const auto clock = static_cast<float>(std::max<std::uint64_t>(snapshot.ledger_clock, 1));
  const auto at = [&](std::uint64_t time) {
    return columns.life +
           (life_end - columns.life) * std::min(1.0F, static_cast<float>(time) / clock);
  };
  const profiling::GraphSnapshot& graph = *scene.graph();
  if (graph.capture_ended != 0) {
    draw->AddRectFilled(
        ImVec2(at(graph.capture_began), y),
        ImVec2(std::max(at(graph.capture_ended), at(graph.capture_began) + 1.0F), y + height),
        theme.colors.line);
  }
  const float inset = 0.35F * height;
  const ImVec2 lives(at(memory.allocated_at), y + inset);
  if (engine::foreign(memory.role)) {
    // Its lifetime is unknown: draw an outline instead of a bar.
    draw->AddRect(lives, ImVec2(life_end, y + height - inset), theme.colors.dim_text);
  } else {
    draw->AddRectFilled(
        lives,
        ImVec2(memory.live() ? life_end : std::max(at(memory.freed_at), lives.x + 1.5F),
               y + height - inset),
        memory.live() ? theme.colors.dim_text : theme.colors.warn);
  }
}

void MemoryView::draw_cells(const PanelContext& context, const GraphScene& scene,
                            const MemoryRow& row, const Columns& columns, float y,
                            float height) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(ImVec2(columns.cells, y), ImVec2(columns.end, y + height - 1.0F),
                      theme.colors.raised);
  const auto width = static_cast<float>(1.0 / (last_ - first_)) * (columns.end - columns.cells);
  float drawn_to = -1.0F;
  for (const bool red : {false, true}) {
    for (const MemoryCell& cell : row.cells) {
      if ((cell.unordered_with >= 0) != red) continue;
      const float x = x_of(cell.node - 0.5, columns);
      const float end = x + std::max(width - 1.0F, 2.0F);
      // Many nodes per pixel: one mark for all of them, but never instead of a red one.
      if (end < columns.cells || x > columns.end || (!red && end <= drawn_to)) continue;
      if (!red) drawn_to = end;
      draw->AddRectFilled(ImVec2(std::max(x, columns.cells), y + 1.0F),
                          ImVec2(std::min(end, columns.end), y + height - 2.0F),
                          red           ? theme.colors.bad
                          : cell.writes ? theme.colors.accent
                                        : plot::faded(theme.colors.accent, 0.55F));
    }
  }
  if (!scene.names_memory(row.allocation)) return;
  for (const MemoryCell& cell : row.cells) {
    if (!scene.names_access(row.allocation, cell.node)) continue;
    const float x = x_of(cell.node - 0.5, columns);
    const float end = x + std::max(width - 1.0F, 4.0F);
    if (end < columns.cells || x > columns.end) continue;
    draw->AddRect(ImVec2(std::max(x, columns.cells), y),
                  ImVec2(std::min(end, columns.end), y + height - 1.0F), theme.colors.text, 0.0F, 0,
                  theme.px(1.5F));
  }
}

std::vector<KeyEntry> MemoryView::key_of(const PanelContext& context,
                                         const GraphScene& scene) const {
  using Mark = KeyEntry::Mark;
  const Palette& colors = context.theme.colors;
  std::vector<KeyEntry> key;
  if (named_ > 0) {
    key.push_back({"named by " + scene.chosen_finding()->rule, colors.bad, Mark::Named});
    key.push_back({"address that it names", colors.text, Mark::Outlined});
  }
  key.push_back({"address held", plot::faded(colors.accent, 0.55F)});
  key.push_back({"certainly written", colors.accent});
  if (scene.facts()->memory.clashes > 0) {
    key.push_back({"no order between two nodes", colors.bad});
  }
  bool freed = false;
  bool foreign = false;
  for (const engine::Allocation& memory : scene.report()->snapshot.ledger) {
    freed = freed || !memory.live();
    foreign = foreign || engine::foreign(memory.role);
  }
  key.push_back({"lifetime", colors.dim_text});
  if (freed) key.push_back({"freed", colors.warn});
  if (foreign) key.push_back({"lifetime not known", colors.dim_text, Mark::Outlined});
  if (scene.graph()->capture_ended != 0) key.push_back({"capture", colors.line});
  return key;
}

}  // namespace app
