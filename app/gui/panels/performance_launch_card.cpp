// Multiprocessors over time within one launch whose tiles left stamps.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/counted.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

std::string share_text(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

/// What a reader of the picture would estimate from it.
std::string figures_text(const engine::TiledLaunch& launch) {
  std::string text = fmt::format(
      "{:.2f} waves of {} tiles \u00b7 tail {} ({}) \u00b7 SMs busy {} \u00b7 imbalance {:.2f}",
      launch.waves(), launch.places(), plot::duration_text(static_cast<double>(launch.tail_ns)),
      share_text(launch.tail_share()), share_text(launch.busy_share), launch.imbalance);
  if (launch.occupied < launch.multiprocessors) {
    text += fmt::format(" \u00b7 tiles on {} of {} SMs", launch.occupied, launch.multiprocessors);
  }
  return text;
}

constexpr const char* kFigures =
    "Waves: tiles over the places that all SMs have for them. Tail: from the end of the last tile "
    "of the first SM that runs out of tiles to the end of the launch. SMs busy: share of the time "
    "of all SMs in which they run a tile. Imbalance: busy time of the busiest SM over the mean of "
    "all. All of them count every tile of the launch";

/// "every 2nd", "every 3rd".
std::string every_text(int every) {
  const bool teen = every % 100 / 10 == 1;
  const char* ending = teen              ? "th"
                       : every % 10 == 1 ? "st"
                       : every % 10 == 2 ? "nd"
                       : every % 10 == 3 ? "rd"
                                         : "th";
  return fmt::format("every {}{}", every, ending);
}

}  // namespace

std::size_t PerformancePanel::launch_index() const {
  const std::vector<engine::TiledLaunch>& launches =
      model_.run().result.measurements.tiled_launches;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launch_ == std::pair(launches[i].stage, launches[i].writes)) return i;
    if (launches[i].duration_ns > launches[longest].duration_ns) longest = i;
  }
  return longest;
}

CardSpec PerformancePanel::launch_card(const PanelContext& context) {
  const engine::RunResult& result = model_.run().result;
  const std::size_t index = launch_index();
  const engine::TiledLaunch& launch = result.measurements.tiled_launches[index];
  std::vector<std::string> names;
  for (const engine::TiledLaunch& one : result.measurements.tiled_launches) {
    names.push_back(profiling::launch_name(result, one));
  }
  const float widgets = context.theme.px(kLaunchChoice);
  const std::string kept = launch.kept_every > 1 ? fmt::format("tiles of {} SM recorded \u00b7 ",
                                                               every_text(launch.kept_every))
                                                 : "";
  return {
      .id = "performance.launch_card",
      .title = "SMs in one launch: " + names[index],
      .question =
          "When does each SM work on which expert, and where does the launch lose time? "
          "A click selects an expert, here and in Numerics.",
      .note = fmt::format("{}{} in {} \u00b7 the median of {}", kept,
                          engine::counted(launch.tiles, "tile"),
                          plot::duration_text(static_cast<double>(launch.duration_ns)),
                          engine::counted(launch.launches, "stamped launch", "stamped launches")),
      .measured =
          "Every tile records when it begins and ends (the device's global timer), its SM and "
          "its expert, in launches of their own after the timed iterations; this is the one of "
          "median duration. Time counts from the begin of the first tile: what a thread block "
          "does before it, and the launch itself, are not in the picture. Rows of SMs that run "
          "several tiles at once are divided. At most 32 768 tiles of a launch are recorded, of "
          "every second, third, ... SM where there are more; the figures count all.",
      .list = [&launch] { return profiling::launch_tiles_table(launch); },
      .header_widgets = names.size() > 1 ? widgets : 0.0F,
      .header =
          [this, &context, names, index, widgets, &result] {
            if (names.size() < 2) return;
            int chosen = static_cast<int>(index);
            if (!controls::combo(context, "performance.launch_choice", "", chosen, names,
                                 {.width = widgets - context.theme.px(kGap)})) {
              return;
            }
            const engine::TiledLaunch& one =
                result.measurements.tiled_launches[static_cast<std::size_t>(chosen)];
            launch_ = std::pair(one.stage, one.writes);
          },
      .draw = [this, &context](const Area& room) { draw_launch(context, room); },
      .read_out = {"performance.launch", "tiles of one launch",
                   [this, &context] { return launch_value(context.view.expert); }}};
}

std::string PerformancePanel::launch_value(int selected) const {
  const engine::RunResult& result = model_.run().result;
  const engine::TiledLaunch& launch = result.measurements.tiled_launches[launch_index()];
  const plot::Range& view = launch_plot_.view.x;
  return fmt::format(
      "launch={};tiles={};sms={};waves={:.2f};tail_ns={};busy={:.3f};imbalance={:.2f};"
      "from_ns={:.0f};to_ns={:.0f};shown={};narrow={};every={};selected={}",
      profiling::launch_name(result, launch), launch.tiles, launch.multiprocessors, launch.waves(),
      launch.tail_ns, launch.busy_share, launch.imbalance, view.min, view.max, launch_plot_.tiles,
      launch_plot_.narrow, launch_every_, selected);
}

void PerformancePanel::draw_launch(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const engine::RunResult& result = model_.run().result;
  const std::size_t index = launch_index();
  const engine::TiledLaunch& launch = result.measurements.tiled_launches[index];
  const int experts = static_cast<int>(result.splits.size());
  const float line = theme.fonts.label->FontSize + theme.px(kGapSmall);
  const float legend = plot::expert_legend_width(theme, experts);
  std::string text = figures_text(launch);
  // Of the frame before: the picture is drawn below.
  if (launch_every_ > launch.kept_every) {
    text += fmt::format(" \u00b7 {} SM drawn: a higher card shows more", every_text(launch_every_));
  }
  if (launch_plot_.narrow > 0) {
    text += fmt::format(" \u00b7 {} narrower than a pixel: zoom in",
                        engine::counted(launch_plot_.narrow, "tile"));
  }
  draw_text_line(context, {room.at, ImVec2(room.size.x - legend - theme.px(kGap), line)},
                 {.id = "performance.launch.figures",
                  .label = "figures of the launch",
                  .text = std::move(text),
                  .color = theme.colors.text,
                  .tooltip = kFigures});
  plot::draw_expert_legend(
      context, ImVec2(room.end().x - legend, room.at.y + 0.5F * theme.px(kGapSmall)), experts);
  const Area below = room.below(line);
  ImGui::SetCursorScreenPos(below.at);
  const plot::LaunchPlotResult shown =
      plot::draw_launch(context,
                        {.id = "##performance.launch",
                         .size = below.size,
                         .generation = model_.derived() * engine::kMostTiledLaunches + index,
                         .experts = experts,
                         .selected = context.view.expert},
                        launch, model_.picture().launches[index], launch_plot_);
  launch_every_ = shown.shown_every;
  if (!shown.tile) return;
  const engine::LaunchTile& tile = launch.kept[*shown.tile];
  plot::read_out(
      context, fmt::format("expert {}", tile.expert),
      {{"tile", plot::count_text(static_cast<std::uint64_t>(tile.tile))},
       {"SM", std::to_string(tile.multiprocessor)},
       {"start", plot::duration_text(static_cast<double>(tile.begin_ns))},
       {"duration", plot::duration_text(static_cast<double>(tile.end_ns - tile.begin_ns))}});
  if (shown.clicked) select_expert(context, tile.expert);
}

}  // namespace app
