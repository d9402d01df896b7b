#include "app/gui/graph/memory_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/cards/card.h"
#include "app/gui/cards/top_sentence.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "app/plot/pointer_arrays.h"
#include "engine/model/counted.h"
#include "profiling/document/columns.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr int kRoles = static_cast<int>(enum_names(engine::AllocationRole{}).size());
constexpr float kMarkReach = 4.0F;  // distance in pixels at which the mouse still hits a mark
constexpr std::size_t kPlacesInReadOut = 6;

/// "shared-workspace, proved: at 0 B, 64 B": the bytes of this memory that it names.
std::string named_bytes(const GraphScene& scene, int allocation) {
  std::set<std::uint64_t> offsets;
  for (const NamedAccess& access : scene.named_accesses()) {
    if (access.allocation == allocation) offsets.insert(access.offset);
  }
  const profiling::Finding& finding = *scene.chosen_finding();
  std::string text =
      fmt::format("{}, {}: at", finding.rule, profiling::name_of(finding.confidence));
  std::size_t shown = 0;
  for (const std::uint64_t offset : offsets) {
    if (++shown > kPlacesInReadOut) return text + " and others";
    text += fmt::format("{} {} B", shown == 1 ? "" : ",", plot::count_text(offset));
  }
  return text;
}

/// What is red for no node may be unordered all the same: arguments do not tell who writes.
std::string note_of(std::size_t allocations, int unordered) {
  return fmt::format("{}, {}", engine::counted(allocations, "allocation"),
                     unordered == 0 ? std::string("none known to be unordered")
                                    : fmt::format("{} unordered", unordered));
}

/// Which memory to show, by what compared replays have found.
enum class Changes : std::uint8_t { ByReplays, ByProgram, Never };

bool passes(const profiling::MemoryChanges& found, Changes wanted) {
  switch (wanted) {
    case Changes::ByReplays:
      return found.by_replays > 0;
    case Changes::ByProgram:
      return found.by_program > 0;
    case Changes::Never:
      return found.replays > 0 && found.by_replays == 0 && found.by_program == 0;
  }
  return true;
}

profiling::Cell count_or_none(std::size_t count, std::size_t of) {
  return of == 0 ? profiling::Cell() : profiling::Cell(count);
}

}  // namespace

void MemoryView::follow(const GraphScene& scene) {
  const bool complete = scene.facts() != nullptr;
  if (shown_ != scene.graph_generation()) {
    shown_ = scene.graph_generation();
    first_ = -0.5;
    last_ = scene.graph() == nullptr ? 0.5 : static_cast<double>(scene.graph()->nodes.size()) - 0.5;
  }
  rows_.clear();
  if (!complete) return;
  const std::vector<MemoryRow>& all = scene.facts()->memory.rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (only_red_ && !all[i].red) continue;
    if (role_ > 0 && static_cast<int>(scene.memory_of(all[i]).role) != role_ - 1) continue;
    if (scene.compared() && changes_ > 0 &&
        !passes(all[i].changes, static_cast<Changes>(changes_ - 1)))
      continue;
    rows_.push_back(static_cast<int>(i));
  }
  const auto others = std::stable_partition(rows_.begin(), rows_.end(), [&](int row) {
    return scene.names_memory(all[static_cast<std::size_t>(row)].allocation);
  });
  named_ = static_cast<int>(others - rows_.begin());
}

void MemoryView::draw_header(const PanelContext& context, const GraphScene& scene, float width) {
  std::vector<std::string> roles = {"all roles"};
  for (int i = 0; i < kRoles; ++i) {
    roles.emplace_back(profiling::name_of(static_cast<engine::AllocationRole>(i)));
  }
  const float gap = context.theme.px(kGap);
  float combo = width - context.theme.px(140);
  if (scene.compared()) combo = 0.5F * (combo - gap);
  controls::combo(context, "memory.role", "##role", role_, roles,
                  {.tooltip = "Which memory to show", .width = combo});
  ImGui::SameLine(0, gap);
  if (scene.compared()) {
    const std::vector<std::string> choices = {"changed or not", "changed by replays",
                                              "changed by program", "never changed"};
    controls::combo(
        context, "memory.changes", "##changes", changes_, choices,
        {.tooltip = "Which memory to show, by what the compared replays found", .width = combo});
    ImGui::SameLine(0, gap);
  }
  const int clashes = scene.facts()->memory.clashes;
  controls::checkbox(context, "memory.only_red", "only unordered", only_red_,
                     {.enabled = clashes > 0 || only_red_,
                      .reason = "Neither addresses nor findings show memory that two nodes without "
                                "an order may spoil for each other",
                      .tooltip = "Only memory that two nodes may touch at the same time"});
}

void MemoryView::draw_read_out(const PanelContext& context, const GraphScene& scene,
                               const MemoryRow& row, int node) const {
  const engine::Allocation& memory = scene.memory_of(row);
  const bool named = scene.names_memory(row.allocation);
  std::vector<plot::ReadOutLine> lines = {
      {"role",
       fmt::format("{}, {}", profiling::name_of(memory.role), profiling::name_of(memory.space))},
      {"address", fmt::format("{:#x}, {}", memory.address, bytes_text(memory.bytes))},
      {"lifetime",
       engine::foreign(memory.role)
           ? std::string("not known: this memory is not in the program's own ledger")
       : memory.live() ? fmt::format("since step {} of the ledger", memory.allocated_at)
                       : fmt::format("steps {} to {}, freed", memory.allocated_at, memory.freed_at),
       memory.live() ? 0 : context.theme.colors.warn},
      {"nodes", plot::count_text(row.cells.size())}};
  if (scene.compared()) {
    const profiling::MemoryChanges& found = row.changes;
    lines.push_back({"changed by replays", found.replays == 0
                                               ? "not compared"
                                               : by_replays_text(found) + " that were compared"});
    if (found.preceded > 0) {
      lines.push_back(
          {"changed by program", "before " + by_program_text(found) + ", since the replay before"});
    }
  }
  if (named) {
    lines.insert(lines.begin(),
                 {"finding", named_bytes(scene, row.allocation), context.theme.colors.bad});
  }
  const auto cell = std::find_if(row.cells.begin(), row.cells.end(),
                                 [node](const MemoryCell& one) { return one.node == node; });
  if (cell != row.cells.end()) {
    lines.push_back({"node", node_title(scene.step(), *scene.graph(), node, scene.facts())});
    std::size_t places = 0;
    for (const profiling::Touch& touch : touches_of(scene.facts()->memory, node)) {
      if (touch.allocation != row.allocation || ++places > kPlacesInReadOut) continue;
      lines.push_back({place_words(profiling::place_text(touch)),
                       fmt::format("at {} B", plot::count_text(touch.word - memory.address))});
    }
    if (cell->unordered_with >= 0) {
      lines.push_back(
          {"no order with",
           node_title(scene.step(), *scene.graph(), cell->unordered_with, scene.facts()),
           context.theme.colors.bad});
    }
  }
  plot::read_out(context, profiling::allocation_name(memory), lines);
}

void MemoryView::take_input(const PanelContext& context, const Columns& columns, int nodes) {
  const ImGuiIO& io = ImGui::GetIO();
  const double low = -0.5;
  const double high = static_cast<double>(nodes) - 0.5;
  const double span = last_ - first_;
  const auto width = static_cast<double>(columns.end - columns.cells);
  const double at = first_ + span * static_cast<double>(io.MousePos.x - columns.cells) / width;
  double next_first = first_;
  double next_span = span;
  const double steps = static_cast<double>(io.KeyShift ? 0.0F : io.MouseWheel) + context.keys.zoom;
  if (steps != 0.0) {
    next_span = std::clamp(span * std::pow(1.25, -steps), std::min(8.0, high - low), high - low);
    next_first = at - (at - first_) * next_span / span;
  }
  next_first +=
      0.15 * span * (context.keys.pan - static_cast<double>(io.KeyShift ? io.MouseWheel : 0.0F));
  if (ImGui::IsMouseDown(ImGuiMouseButton_Right)) {
    next_first -= span * static_cast<double>(io.MouseDelta.x) / width;
  }
  if (context.keys.fit_all || ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    next_first = low;
    next_span = high - low;
  }
  first_ = std::clamp(next_first, low, std::max(low, high - next_span));
  last_ = first_ + next_span;
}

profiling::Table MemoryView::list(const GraphScene& scene) const {
  using profiling::column;
  using profiling::Measure;
  return {.name = "memory",
          .columns = {column("owner"), column("role"), column("bytes", Measure::Bytes),
                      column("allocated", Measure::Count), column("freed", Measure::Count),
                      column("nodes"), column("replays_compared", Measure::Count),
                      column("changed_by_replays", Measure::Count),
                      column("replays_in_a_row", Measure::Count),
                      column("changed_by_program", Measure::Count)},
          .rows = [this, &scene](const profiling::RowSink& sink) {
            for (const int index : rows_) {
              const MemoryRow& row = scene.facts()->memory.rows[static_cast<std::size_t>(index)];
              const engine::Allocation& memory = scene.memory_of(row);
              std::string nodes;
              for (const MemoryCell& cell : row.cells) {
                nodes += fmt::format("{}{}{}", nodes.empty() ? "" : " ", cell.node,
                                     cell.unordered_with >= 0 ? "!" : "");
              }
              const profiling::MemoryChanges& found = row.changes;
              sink({.cells = profiling::cells_of(
                        profiling::allocation_name(memory), profiling::name_of(memory.role),
                        memory.bytes, memory.allocated_at, memory.freed_at, std::move(nodes),
                        count_or_none(found.replays, found.replays),
                        count_or_none(found.by_replays, found.replays),
                        count_or_none(found.preceded, found.replays),
                        count_or_none(found.by_program, found.preceded))});
            }
          }};
}

CardSpec MemoryView::card(const PanelContext& context, const Area& area, GraphScene& scene) {
  follow(scene);
  const bool complete = scene.graph() != nullptr && scene.facts() != nullptr;
  const bool known = complete && !scene.report()->snapshot.ledger.empty();
  const Theme& theme = context.theme;
  // In a narrow card both choices get a row of their own.
  const float widgets = scene.compared() ? std::min(theme.px(440), area.size.x - theme.px(40))
                                         : std::min(theme.px(290), area.size.x - theme.px(130));
  CardSpec spec{
      .id = "memory.card",
      .title = "Memory map",
      .question =
          "Which node holds addresses of which memory, and may two of them touch the "
          "same memory at the same time?",
      .note = complete ? note_of(rows_.size(), scene.facts()->memory.clashes) : "",
      .measured =
          "Words of the nodes' argument bytes that lie in an allocation of the worker's "
          "ledger. Solid: written for certain (memset, copy). Red: scratch or counters of "
          "two nodes, overlapping ranges one of which is written, or accesses that a finding "
          "names, "
          "without a path of full edges between the two. Argument bytes do not tell reads from "
          "writes, and what is in a "
          "pointer array is not among them. Sizes are what is allocated, with room for any splits. "
          "Changed by replays: hashes of its parts differed after so many of the compared replays. "
          "By program: they differed between two compared replays in a row; another graph counts "
          "as the program. Memory of another device or context is not hashed, and seems to stay.",
      .list = [this, &scene] { return list(scene); },
      .header_widgets = widgets,
      .empty = [known, complete]() -> EmptyState {
        if (known) return {};
        return {"No memory known",
                complete ? "The snapshot has no ledger: it comes from a file, or from a capture "
                           "that was made without one."
                         : "There is no graph to show."};
      },
      .draw = [this, &context, &scene](const Area& room) { draw_rows(context, room, scene); }};
  if (known) {
    spec.header = [this, &context, &scene, widgets] { draw_header(context, scene, widgets); };
  }
  return spec;
}

void MemoryView::draw_rows(const PanelContext& context, const Area& whole, GraphScene& scene) {
  const Theme& theme = context.theme;
  const Area below = with_sentence(context, whole, "memory.compared", scene.facts()->compared);
  const Area area = with_sentence(context, below, "memory.arrays_sentence",
                                  arrays_sentence(scene.facts()->arrays));
  const ImVec2 at = area.at;
  const std::vector<KeyEntry> key = key_of(context, scene);
  const float under_rows = theme.px(kGapSmall) + key_height(theme, area.size.x, key);
  const ImVec2 room(area.size.x, area.size.y - under_rows);
  draw_key(context, "memory.key", ImVec2(at.x, at.y + room.y + theme.px(kGapSmall)), area.size.x,
           key);
  const Columns columns = columns_of(theme, scene, at.x, room.x);
  const float title = titles_height(theme, scene);
  draw_titles(context, scene, columns, at.y);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + title));
  const float height = std::floor(theme.fonts.label->FontSize + theme.px(5));
  const bool over_cells = ImGui::IsMouseHoveringRect(ImVec2(columns.cells, at.y + title),
                                                     ImVec2(columns.end, at.y + room.y));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("##memory.rows", ImVec2(room.x, room.y - title), false,
                    over_cells ? ImGuiWindowFlags_NoScrollWithMouse : ImGuiWindowFlags_None);
  const bool hovered = ImGui::IsWindowHovered();
  const float mouse_y = ImGui::GetIO().MousePos.y;
  if (hovered && over_cells) {
    take_input(context, columns, static_cast<int>(scene.graph()->nodes.size()));
  }
  const double under = first_ + (last_ - first_) *
                                    static_cast<double>(ImGui::GetIO().MousePos.x - columns.cells) /
                                    static_cast<double>(columns.end - columns.cells);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows_.size()), height);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const MemoryRow& row =
          scene.facts()->memory.rows[static_cast<std::size_t>(rows_[static_cast<std::size_t>(i)])];
      const float y = ImGui::GetCursorScreenPos().y;
      draw_row(context, scene, row, columns, y, height);
      ImGui::Dummy(ImVec2(room.x - theme.px(14), height));
      if (!hovered || mouse_y < y || mouse_y >= y + height) continue;
      int nearest = -1;
      double distance = 1e18;
      for (const MemoryCell& cell : row.cells) {
        if (std::abs(cell.node - under) >= distance) continue;
        distance = std::abs(cell.node - under);
        nearest = cell.node;
      }
      const double pixel = (last_ - first_) / static_cast<double>(columns.end - columns.cells);
      if (!over_cells || distance > std::max(0.5, static_cast<double>(kMarkReach) * pixel))
        nearest = -1;
      if (nearest >= 0 && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) scene.choose_node(nearest);
      draw_read_out(context, scene, row, nearest);
    }
  }
  if (scene.node() >= 0) {
    const float x = x_of(scene.node(), columns);
    if (x >= columns.cells && x <= columns.end) {
      ImGui::GetWindowDrawList()->AddLine(ImVec2(x, at.y + title), ImVec2(x, at.y + room.y),
                                          theme.colors.text, 1.0F);
    }
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  controls::record(
      context, "graphs.memory", "allocations by node", "plot",
      fmt::format("rows={};unordered={};first={:.1f};last={:.1f};selected={};named={}",
                  rows_.size(), scene.facts()->memory.clashes, first_, last_, scene.node(), named_),
      at, area.end());
}

}  // namespace app
