// The time of every expert.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/plot_text.h"

namespace app {

std::string PerformancePanel::experts_text(char separator) const {
  std::string text = fmt::format("expert{0}tokens{0}n{0}median_ns{0}p5_ns{0}p95_ns\n", separator);
  for (const profiling::ExpertTime& expert : model_.experts()) {
    const auto index = static_cast<std::size_t>(expert.expert);
    const std::vector<std::int64_t>& splits = model_.run().result.splits;
    text += fmt::format("{1}{0}{2}{0}{3}{0}{4:.0f}{0}{5:.0f}{0}{6:.0f}\n", separator, expert.expert,
                        index < splits.size() ? splits[index] : 0, expert.time.n,
                        expert.time.median, expert.time.p5, expert.time.p95);
  }
  return text;
}

void PerformancePanel::draw_experts(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const engine::RunResult& result = model_.run().result;
  const std::vector<engine::Stage>& stages = model_.expert_stages();
  // Side by side where a title fits beside them; a step with a backward pass has too many.
  const float row = theme.px(74) * static_cast<float>(stages.size());
  const bool listed = row > area.size.x - theme.px(200);
  const float widgets = stages.size() <= 1 ? 0.0F : listed ? theme.px(110) : row;
  std::size_t samples = 0;
  for (const profiling::ExpertTime& expert : model_.experts()) {
    samples = std::max(samples, expert.time.n);
  }
  Card card(
      context,
      {.id = "performance.experts_card",
       .title = "Per expert",
       .question = "Which expert takes how long in one iteration, and does it follow its tokens?",
       .note = stages.empty() ? "" : fmt::format("{}, n {}", range_note(), samples),
       .measured = "Sum of an expert's records of one stage in one iteration; bar = median, "
                   "whiskers = p5 to p95 over iterations. Records: " +
                   result.activity_method +
                   ". Where one launch serves all experts, no time is given to any of them.",
       .text = [this] { return experts_text('\t'); },
       .csv = [this] { return experts_text(','); },
       .header_widgets = widgets},
      area.size);
  ;
  if (stages.size() > 1) {
    card.begin_header_widgets();
    int index = static_cast<int>(model_.stage_index());
    std::vector<std::string> names;
    for (const engine::Stage stage : stages) names.emplace_back(engine::stage_name(stage));
    const controls::Options options{.width = widgets - theme.px(kGap)};
    constexpr const char* kId = "performance.expert_stage";
    if (listed ? controls::combo(context, kId, "", index, names, options)
               : controls::segmented(context, kId, index, names, options)) {
      model_.set_stage(static_cast<std::size_t>(index));
      model_.lay_out(theme);
    }
    card.end_header_widgets();
  }
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string value = "none";
  if (model_.experts().empty()) {
    const bool grouped = result.effective.backend == engine::GemmBackend::CublasLtGrouped;
    draw_empty(context, room, grouped ? "One launch, all experts" : "No time per expert",
               grouped
                   ? "The grouped kernel computes every expert in one launch, so no record belongs "
                     "to a single expert, and a share by FLOP would be a guess. The totals of each "
                     "kernel are in the table beside this. Method: " +
                         result.activity_method + "."
                   : "No record in " + range_note() +
                         " names an expert. Method: " + result.activity_method + ".",
               "", nullptr);
  } else {
    double highest = 0.0;
    for (const plot::Bar& bar : model_.expert_bars()) {
      if (std::isfinite(bar.value)) highest = std::max(highest, bar.high);
    }
    const int hovered = plot::draw_bars(
        context,
        {.id = "##performance.experts",
         .size = room,
         .y = {.kind = plot::AxisKind::Nanoseconds,
               .label = fmt::format("{} / iteration", plot::time_unit(highest).name),
               .limits = {0.0, std::max(highest * 1.1, 1.0)}},
         .x_label = "expert",
         .companion_label = "tokens"},
        model_.expert_bars(), expert_view_);
    value = fmt::format("experts={};stage={}", model_.experts().size(),
                        engine::stage_name(stages[model_.stage_index()]));
    if (hovered >= 0) {
      const plot::Bar& bar = model_.expert_bars()[static_cast<std::size_t>(hovered)];
      std::vector<plot::ReadOutLine> lines = {
          {"tokens", plot::count_text(static_cast<std::uint64_t>(bar.companion)),
           theme.colors.warn},
          {"median", plot::duration_text(bar.value), bar.color},
          {"p5 \u2013 p95",
           plot::duration_text(bar.low) + " \u2013 " + plot::duration_text(bar.high), 0}};
      if (bar.companion > 0.0 && std::isfinite(bar.value)) {
        lines.push_back({"per token", plot::duration_text(bar.value / bar.companion), 0});
      }
      plot::read_out(context, fmt::format("expert {}", hovered), lines);
    }
  }
  controls::record(context, "performance.experts", "time per expert", "plot", value, at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

}  // namespace app
