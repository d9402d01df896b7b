// The timeline of the step and the sums of its stages.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/plot_text.h"

namespace app {

void PerformancePanel::draw_stage_sums(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImFont* font = theme.fonts.label;
  float x = origin.x;
  const std::string lead = range_note() + ":";
  plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.dim_text, lead);
  x += plot::text_size(font, lead).x + theme.px(kGapLarge);
  std::string value;
  for (const StageSum& sum : model_.stage_sums()) {
    const std::string name(engine::stage_name(sum.stage));
    const std::string figure =
        fmt::format("{} ({:.0f} %, n {})", plot::duration_text(sum.sum_ns),
                    100.0 * sum.sum_ns / model_.total_ns(), plot::count_text(sum.records));
    const float wanted = theme.px(14) + plot::text_size(font, name).x + theme.px(kGapSmall) +
                         plot::text_size(font, figure).x;
    value += fmt::format("{}={:.0f};", name, sum.sum_ns);
    if (x + wanted > origin.x + width) continue;
    const float side = theme.px(8);
    const float top = origin.y + 0.5F * (font->FontSize - side);
    draw->AddRectFilled(ImVec2(x, top), ImVec2(x + side, top + side), theme.stage(sum.stage),
                        theme.px(1));
    x += theme.px(14);
    plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.dim_text, name);
    x += plot::text_size(font, name).x + theme.px(kGapSmall);
    plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.text, figure);
    x += plot::text_size(font, figure).x + theme.px(kGapSection);
  }
  controls::record(context, "performance.stage_sums", "sums by stage", "text", value, origin,
                   ImVec2(origin.x + width, origin.y + font->FontSize));
  ImGui::Dummy(ImVec2(width, font->FontSize));
}

void PerformancePanel::draw_timeline_card(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const profiling::RecordedRun& run = model_.run();
  Card card(
      context,
      {.id = "performance.timeline_card",
       .title = "Timeline",
       .question = "When did what run? Wheel zooms at the cursor, right drag or Shift+drag pans, "
                   "left drag selects a range, double click or Home shows the timed iterations, "
                   "once more all records.",
       .note = run.result.activity_method,
       .measured = "Records: " + run.result.activity_method +
                   ".\nSpans narrower than 3 pixels are folded into one block with a line "
                   "across; it carries their count and takes the colour of the longest.",
       .text = [this] { return plot::table_text(kernel_columns(), model_.kernel_rows()); },
       .csv = [this] { return plot::table_csv(kernel_columns(), model_.kernel_rows()); }},
      area.size);
  ;
  const ImVec2 room = card.room();
  if (run.activity.records.empty()) {
    if (draw_empty(context, room, "No records",
                   "This run left no activity: " + run.result.activity_method, "performance.again",
                   "Run again")) {
      context.commands.run_now = true;
    }
    return;
  }
  const float sums = context.theme.fonts.label->FontSize + context.theme.px(6);
  const float strip = notes_.prepare(context, timeline_view_);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 at(corner.x, corner.y + strip);
  const ImVec2 plot_size(room.x, room.y - sums - strip);
  ImGui::SetCursorScreenPos(at);
  const plot::TimelineResult shown = plot::draw_timeline(
      context, "##performance.timeline", plot_size, run.activity, model_.lanes(), timeline_view_);
  ImGui::SetCursorScreenPos(corner);
  const bool note_chosen = notes_.draw(context, shown.inner_min, shown.inner_max, timeline_view_);
  if (shown.selection_changed || note_chosen) {
    model_.set_range(timeline_view_.selection);
    table_.selected = -1;
  }
  const plot::Range range = timeline_view_.x;
  std::string value = fmt::format("records={};blocks={};from_ns={:.0f};to_ns={:.0f}",
                                  shown.visible_records, shown.drawn_blocks, range.min, range.max);
  if (timeline_view_.selection) {
    value += fmt::format(";selected_from_ns={:.0f};selected_to_ns={:.0f};selected_records={}",
                         timeline_view_.selection->min, timeline_view_.selection->max,
                         model_.records_in_range());
  }
  controls::record(context, "performance.timeline", "timeline", "plot", value, at,
                   ImVec2(at.x + plot_size.x, at.y + plot_size.y));
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + plot_size.y + context.theme.px(4)));
  draw_stage_sums(context, room.x);
}

}  // namespace app
