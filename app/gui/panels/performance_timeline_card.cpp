// The timeline of the step and the sums of its stages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/iteration_words.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/timeline_stamps.h"
#include "engine/program/operation_words.h"
#include "profiling/document/power_words.h"

namespace app {
namespace {

constexpr const char* kStampedSpans =
    "Outlined spans are not records. A launch for all experts runs again apart from the timed "
    "iterations, and then every tile records its expert, begin and end. A span reaches from the "
    "begin of an expert's first tile to the end of its last, in proportion to the duration of the "
    "launch in the lane of all experts, and is paler where none of its tiles runs. What thread "
    "blocks do before their first tile is in that duration but not in the stamps. No sum, search "
    "or export includes these spans";

}  // namespace

std::vector<PerformancePanel::SumPlace> PerformancePanel::place_stage_sums(const Theme& theme,
                                                                           float width) const {
  const ImFont* font = theme.fonts.label;
  const float lead = plot::text_size(font, range_note() + ":").x + theme.px(kGapLarge);
  std::vector<SumPlace> places;
  float x = lead;
  int line = 0;
  for (const StageSum& sum : model_.stage_sums()) {
    SumPlace place{.stage = sum.stage,
                   .name = std::string(engine::stage_name(sum.stage)),
                   .figure = fmt::format("{} ({:.0f} %, n {})", plot::duration_text(sum.sum_ns),
                                         100.0 * sum.sum_ns / model_.total_ns(),
                                         plot::count_text(sum.records))};
    place.name_width = plot::text_size(font, place.name).x + theme.px(kGapSmall);
    const float wanted = theme.px(14) + place.name_width + plot::text_size(font, place.figure).x;
    if (x > lead && x + wanted > width) {
      x = lead;
      ++line;
    }
    place.x = x;
    place.line = line;
    x += wanted + theme.px(kGapSection);
    places.push_back(std::move(place));
  }
  return places;
}

float PerformancePanel::stage_sums_height(const Theme& theme, float width) const {
  const std::vector<SumPlace> places = place_stage_sums(theme, width);
  const int more = places.empty() ? 0 : places.back().line;
  return theme.fonts.label->FontSize +
         static_cast<float>(more) * (theme.fonts.label->FontSize + theme.px(2));
}

void PerformancePanel::draw_stage_sums(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImFont* font = theme.fonts.label;
  plot::draw_text(draw, font, origin, theme.colors.dim_text, range_note() + ":");
  std::string value;
  for (const StageSum& sum : model_.stage_sums()) {
    value += fmt::format("{}={:.0f};", engine::stage_name(sum.stage), sum.sum_ns);
  }
  for (const SumPlace& place : place_stage_sums(theme, width)) {
    const float y = origin.y + static_cast<float>(place.line) * (font->FontSize + theme.px(2));
    const float side = theme.px(8);
    float x = origin.x + place.x;
    const float top = y + 0.5F * (font->FontSize - side);
    draw->AddRectFilled(ImVec2(x, top), ImVec2(x + side, top + side), theme.stage(place.stage),
                        theme.px(1));
    x += theme.px(14);
    plot::draw_text(draw, font, ImVec2(x, y), theme.colors.dim_text, place.name);
    plot::draw_text(draw, font, ImVec2(x + place.name_width, y), theme.colors.text, place.figure);
  }
  const float height = stage_sums_height(theme, width);
  controls::record(context, "performance.stage_sums", "sums by stage", "text", value, origin,
                   ImVec2(origin.x + width, origin.y + height));
  ImGui::Dummy(ImVec2(width, height));
}

std::string PerformancePanel::timeline_sentence() const {
  std::string text;
  const char* const noun = iteration_noun(!model_.run().activity.nodes.empty());
  if (const auto& gaps = model_.gaps()) {
    text = fmt::format(
        "Kernels run for {:.1f} % of the median {}: its gaps together take {} (n {}), the longest "
        "gap is {}.",
        100.0 * (1.0 - gaps->median_share), noun, plot::duration_text(gaps->gaps.median),
        plot::count_text(gaps->gaps.n), plot::duration_text(static_cast<double>(gaps->longest_ns)));
  }
  constexpr std::size_t kNamed = 3;
  std::string stages;
  for (const StageSum& sum : model_.stage_sums()) {
    if (static_cast<std::size_t>(&sum - model_.stage_sums().data()) == kNamed) break;
    stages += fmt::format("{}{} ({:.0f} %)", stages.empty() ? "" : ", then ",
                          engine::stage_name(sum.stage), 100.0 * sum.sum_ns / model_.total_ns());
  }
  if (stages.empty()) return text;
  return text + (text.empty() ? "" : " ") + "Most of the time goes to " + stages + ".";
}

std::string PerformancePanel::no_expert_lanes() const {
  const profiling::StampedSpans& stamped = model_.picture().stamped;
  const std::string text = "No record names an expert: one launch serves all of them, and ";
  if (stamped.unused.empty()) return text + "no stamped launch shows when each ran";
  const profiling::UnusedStamps& first = stamped.unused.front();
  return fmt::format("{}stamps cannot show when each ran (of {}: {})", text,
                     engine::operation_or_stage(stamped.step, first.stage, first.writes),
                     first.reason);
}

void PerformancePanel::draw_timeline_widgets(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const bool graph = !model_.run().activity.nodes.empty();
  const float gap = theme.px(kGap);
  const float choices = std::min(theme.px(220), width - gap);
  if (width > choices + theme.px(140)) {
    if (const auto record = find_.draw(context, width - choices - 2.0F * gap, timeline_view_.x)) {
      bring_into_view(*record, /*legible=*/true);
    }
    ImGui::SameLine(0, gap);
  }
  int choice = static_cast<int>(model_.lane_choice());
  const bool experts = model_.has_expert_lanes();
  if (controls::segmented(
          context, "performance.lanes", choice,
          {"Streams", graph ? "Replays" : "Iterations", "Experts"}, {.width = choices},
          {{.tooltip = "A lane for each stream or thread"},
           {.tooltip = "Every replay or iteration as one block, above its contents"},
           {.enabled = experts,
            .reason = no_expert_lanes(),
            .tooltip = "A lane for each expert, or for a few neighbours where there are many. A "
                       "launch for all of them is drawn there as its stamped launch ran"}})) {
    model_.set_lanes(static_cast<plot::LaneChoice>(choice));
  }
}

void PerformancePanel::bring_into_view(std::uint32_t record, bool legible) {
  const plot::TimelineLanes& lanes = model_.lanes();
  plot::bring_into_view(model_.run().activity.records[record], lanes, legible, timeline_view_);
  // Its lane may be hidden, or collapsed with its group.
  const std::vector<std::size_t> of_record = plot::lanes_with(lanes, model_.run().activity, record);
  if (of_record.empty()) return;
  for (const plot::LaneLine& line : lane_order_.lines(lanes.labels, lanes.groups)) {
    if (!line.heading && std::ranges::find(of_record, line.lane) != of_record.end()) return;
  }
  lane_order_.reveal(lanes.labels[of_record.front()], lanes.groups[of_record.front()]);
}

void PerformancePanel::draw_heading_button(const PanelContext& context,
                                           const plot::LaneLabel& label) {
  const plot::LaneLine& line = label.line;
  std::string id = "performance.lane_group." + line.group;
  std::ranges::replace(id, ' ', '_');
  ImGui::SetCursorScreenPos(label.min);
  if (ImGui::InvisibleButton(id.c_str(),
                             ImVec2(label.max.x - label.min.x, label.max.y - label.min.y))) {
    lane_order_.toggle_group(line.group);
  }
  if (ImGui::IsItemHovered()) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    controls::tooltip(context, line.collapsed ? "Click or G: shows the lanes of this group"
                                              : "Click or G: collapses the lanes of this group");
  }
  controls::record(context, id.c_str(), line.group.c_str(), "button",
                   line.collapsed ? "collapsed" : "open", label.min, label.max);
}

void PerformancePanel::collapse_by_keys(const PanelContext& context,
                                        const plot::TimelineResult& shown) {
  if (context.keys.collapse_all) {
    std::vector<std::string> groups;
    for (const plot::LaneLine& line :
         lane_order_.lines(model_.lanes().labels, model_.lanes().groups)) {
      if (line.heading) groups.push_back(line.group);
    }
    lane_order_.toggle_groups(groups);
  } else if (context.keys.collapse && !shown.group.empty()) {
    lane_order_.toggle_group(shown.group);
  }
}

void PerformancePanel::draw_lane_menus(const PanelContext& context,
                                       const plot::TimelineResult& shown) {
  const std::vector<std::string>& labels = model_.lanes().labels;
  const std::size_t visible = lane_order_.shown(labels).size();
  for (const plot::LaneLabel& one : shown.labels) {
    if (one.line.heading) {
      draw_heading_button(context, one);
      continue;
    }
    const std::string& name = labels[one.line.lane];
    const std::string id = fmt::format("performance.lane.{}", one.line.lane);
    const bool pinned = lane_order_.pinned(name);
    ImGui::SetCursorScreenPos(one.min);
    if (ImGui::InvisibleButton(id.c_str(), ImVec2(one.max.x - one.min.x, one.max.y - one.min.y))) {
      ImGui::OpenPopup(id.c_str());
    }
    if (ImGui::IsItemHovered()) controls::tooltip(context, name + ": click to pin or hide");
    controls::record(context, id.c_str(), name.c_str(), "button", pinned ? "pinned" : "", one.min,
                     one.max);
    const PopupScope popup(id.c_str(), context.theme.px(kGap));
    if (!popup) continue;
    const auto item = [&](const char* what, const char* label, bool enabled) {
      return controls::menu_item(context, (id + "." + what).c_str(), label, enabled);
    };
    if (item("pin", pinned ? "Unpin" : "Pin to the top", true)) lane_order_.toggle_pin(name);
    if (item("hide", "Hide this lane", visible > 1)) lane_order_.hide(name);
    if (item("all", "Show all lanes", visible < labels.size())) lane_order_.show_all();
  }
}

void PerformancePanel::order_export(const PanelContext& context, bool csv) const {
  RecordsOrder order{.csv = csv};
  if (timeline_view_.selection) order.range = time_range(timeline_view_.selection);
  context.commands.push_back(order);
}

CardSpec PerformancePanel::timeline_card(const PanelContext& context, const Area& area) {
  const profiling::RecordedRun& run = model_.run();
  const float widgets = std::min(context.theme.px(480), 0.62F * area.size.x);
  const std::vector<std::string>& lanes = model_.lanes().labels;
  const std::size_t hidden = lanes.size() - lane_order_.shown(lanes).size();
  const auto export_memory = [this, &context] {
    context.commands.push_back(
        CsvOrder{.stem = "performance-memory",
                 .text = plot::memory_csv(model_.run().activity, model_.lanes().memory)});
  };
  return {
      .id = "performance.timeline_card",
      .title = "Timeline",
      .question =
          "What ran when? Wheel zooms at the cursor, right drag or Shift+drag pans, "
          "left drag selects a range. It opens on the timed iteration of median duration; double "
          "click or Home shows all timed iterations, again all records, again that one. 0 is the "
          "start of the first timed iteration. A click chooses "
          "a record; , and . go to its neighbours "
          "in the row, [ and ] along the graph. The strip below shows everything.",
      .note = run.result.activity_method +
              (hidden > 0 ? fmt::format(" · {} lane{} hidden", hidden, hidden == 1 ? "" : "s")
                          : std::string()),
      .measured =
          "Records: " + run.result.activity_method +
          ".\nSpans narrower than 3 pixels are folded into one block with a line "
          "across; it carries their count and takes the colour of the longest. A gap is "
          "measured from the end of one record to the start of the next in its row. Outlined spans "
          "in the lanes of experts are derived from stamped launches and are not records. The "
          "strip is as high as the records in a pixel are busy, against the busiest. "
          "Allocated memory is what was allocated and not yet released since the first event of "
          "the run; the run's peak is the full height. Clock and power are the driver's samples, "
          "from 0 to the highest one of the run; a single sample of power may exceed the device's "
          "limit, which is kept on average. " +
          profiling::refresh_sentence(model_.picture().refreshes),
      .table = {.id = "##performance.kernels", .drawn = &model_.kernels_table()},
      .actions = {{"export_trace", "Export the range as a Chrome trace",
                   [this, &context] { order_export(context, false); }},
                  {"export_records", "Export the records of the range as CSV",
                   [this, &context] { order_export(context, true); }},
                  {"export_memory", "Export allocated memory as CSV", export_memory},
                  {"save_power", "Save clock and power as CSV",
                   [this, &context] { save_power(context); }}},
      .header_widgets = widgets,
      .header =
          [this, &context, widgets] {
            if (!model_.run().activity.records.empty()) draw_timeline_widgets(context, widgets);
          },
      .empty = [this, &context]() -> EmptyState {
        if (!model_.run().activity.records.empty()) return {};
        if (context.view.arriving) {
          return {"Records are arriving", "The rest of the run is still on its way from there."};
        }
        return {"No records", "This run left no activity: " + model_.run().result.activity_method,
                "performance.again", "Run again",
                [&context] { context.commands.push_back(Action::Run); }};
      },
      .draw = [this, &context](const Area& room) { draw_timeline_content(context, room); },
      .sentence = [this] { return timeline_sentence(); }};
}

void PerformancePanel::draw_timeline_content(const PanelContext& context, const Area& whole) {
  const Theme& theme = context.theme;
  const bool details = follow_event();
  // Beside the plot, which stays wider than it.
  const float beside =
      details ? std::min(theme.px(300), std::floor(0.45F * whole.size.x)) + theme.px(kGap) : 0.0F;
  const Area room{whole.at, ImVec2(whole.size.x - beside, whole.size.y)};
  const ImVec2 at = room.at;
  sums_width_ = room.size.x;
  const float sums = stage_sums_height(theme, sums_width_) + theme.px(6);
  const float strip = theme.px(12);
  // Where there is much room, as in a maximized card, the curves have a share of it.
  const float least_power = power_strip_height(theme);
  const bool curves = !model_.run().power.samples.empty();
  const float power = curves ? std::max(least_power, 0.2F * room.size.y) : least_power;
  const ImVec2 plot_size(room.size.x, room.size.y - sums - strip - power - theme.px(2));
  const PixelSpan time_axis = draw_timeline(context, plot_size);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + plot_size.y));
  draw_power_strip(context, ImVec2(room.size.x, power), time_axis);
  const ImVec2 strip_at(at.x, at.y + plot_size.y + power + theme.px(2));
  ImGui::SetCursorScreenPos(strip_at);
  const int busy = minimap_.draw(context, "##performance.minimap", ImVec2(room.size.x, strip),
                                 model_.lanes(), model_.derived(), timeline_view_);
  controls::record(context, "performance.minimap", "the whole recording", "plot",
                   fmt::format("busy_pixels={}", busy), strip_at,
                   ImVec2(strip_at.x + room.size.x, strip_at.y + strip));
  ImGui::SetCursorScreenPos(ImVec2(at.x, strip_at.y + strip + theme.px(4)));
  draw_stage_sums(context, room.size.x);
  if (!details) return;
  const Area panel{ImVec2(room.end().x + theme.px(kGap), whole.at.y),
                   ImVec2(beside - theme.px(kGap), whole.size.y)};
  if (draw_details(context, panel, *details_)) show_details_ = false;
}

bool PerformancePanel::follow_event() {
  // The run on screen may change later than the one that was asked for.
  if (detailed_generation_ != model_.generation()) {
    detailed_generation_ = model_.generation();
    event_.reset();
    detailed_.reset();
    details_.reset();
  }
  // Keys and the search choose records only; a click on another event leaves none chosen.
  std::optional<plot::TimelineEvent> shown = event_;
  if (find_.chosen()) shown = plot::TimelineEvent{plot::EventList::Records, *find_.chosen()};
  if (detailed_ != shown) {
    detailed_ = shown;
    details_.reset();
    if (shown) {
      details_ = details_of(model_.run(), *shown, model_.lanes().names, model_.picture().stamped);
    }
    show_details_ = true;
  }
  return show_details_ && details_.has_value();
}

std::optional<plot::LaunchArrow> PerformancePanel::launch_arrow() const {
  if (!show_details_ || !details_ || !details_->launch) return std::nullopt;
  return plot::LaunchArrow{static_cast<double>(details_->launch->start_ns), details_->launch->call};
}

void PerformancePanel::choose(const std::optional<plot::TimelineEvent>& event) {
  const bool record = event && event->list == plot::EventList::Records;
  find_.choose(record ? std::optional(event->index) : std::nullopt);
  event_ = record ? std::nullopt : event;
  show_details_ = true;
}

float PerformancePanel::stamped_caption_height(const Theme& theme) const {
  const profiling::StampedSpans* stamped = model_.lanes().stamped;
  if (stamped == nullptr || (stamped->empty() && stamped->unused.empty())) return 0.0F;
  return theme.fonts.label->FontSize + theme.px(kGapSmall);
}

std::string PerformancePanel::stamped_caption(std::size_t launches) const {
  const engine::RunRequest& effective = model_.run().result.effective;
  const profiling::StampedSpans& stamped = *model_.lanes().stamped;
  std::string text;
  if (!stamped.empty()) {
    text =
        "when an expert's tiles ran in the stamped launch of the operation, stretched to each "
        "launch; not measured there";
    if (effective.layers > 1) text += " \u00b7 layer 0 only";
  }
  const auto add = [&text](const std::string& more) {
    text += (text.empty() ? "" : " \u00b7 ") + more;
  };
  for (const profiling::StampedOperation& one : stamped.operations) {
    if (one.kept_every <= 1) continue;
    add(fmt::format("{}: tiles of 1 in {} SMs only",
                    engine::operation_or_stage(effective.step, one.stage, one.writes),
                    one.kept_every));
  }
  if (!stamped.empty() && launches == 0) {
    add("zoom in on a launch: none in view is wide enough");
  }
  for (const profiling::UnusedStamps& one : stamped.unused) {
    add(fmt::format("no stamps shown for {}: {}",
                    engine::operation_or_stage(effective.step, one.stage, one.writes), one.reason));
  }
  return text;
}

void PerformancePanel::draw_stamped_caption(const PanelContext& context, const Area& line,
                                            std::size_t launches) const {
  const Theme& theme = context.theme;
  float lead = 0.0F;
  if (!model_.lanes().stamped->empty()) {
    const float sample = theme.px(22);
    const float inset = theme.px(2);
    plot::draw_stamped_sample(theme, ImGui::GetWindowDrawList(),
                              ImVec2(line.at.x, line.at.y + inset),
                              ImVec2(line.at.x + sample, line.end().y - inset));
    lead = sample + theme.px(kGap);
  }
  draw_text_line(context,
                 {ImVec2(line.at.x + lead, line.at.y), ImVec2(line.size.x - lead, line.size.y)},
                 {.id = "performance.timeline.stamped",
                  .label = "spans of stamped launches",
                  .text = stamped_caption(launches),
                  .color = theme.colors.dim_text,
                  .tooltip = kStampedSpans});
}

PerformancePanel::PixelSpan PerformancePanel::draw_timeline(const PanelContext& context,
                                                            ImVec2 size) {
  const profiling::Activity& activity = model_.run().activity;
  if (find_.handle_keys(context.keys, model_.lanes())) {
    bring_into_view(*find_.chosen(), /*legible=*/false);
  }
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float caption = stamped_caption_height(context.theme);
  const float notes = notes_.prepare(context, timeline_view_);
  const ImVec2 at(corner.x, corner.y + caption + notes);
  size.y -= caption + notes;
  ImGui::SetCursorScreenPos(at);
  const plot::TimelineResult shown =
      plot::draw_timeline(context,
                          {.id = "##performance.timeline",
                           .size = size,
                           .generation = model_.derived(),
                           .chosen = find_.chosen(),
                           .launch = launch_arrow(),
                           .hits = find_.hits(),
                           .order = &lane_order_,
                           .right_margin = power_axis_width(context.theme)},
                          activity, model_.lanes(), timeline_view_, timeline_blocks_);
  if (shown.clicked) choose(shown.event);
  draw_lane_menus(context, shown);
  collapse_by_keys(context, shown);
  if (caption > 0.0F) {
    draw_stamped_caption(context, {corner, ImVec2(size.x, caption)}, shown.stamped_launches);
  }
  ImGui::SetCursorScreenPos(ImVec2(corner.x, corner.y + caption));
  const bool note_chosen =
      notes_.draw(context, ImVec2(shown.left, at.y + context.theme.px(kGapSmall)),
                  ImVec2(shown.right, at.y + size.y), timeline_view_);
  if (shown.selection_changed || note_chosen) {
    model_.set_range(timeline_view_.selection);
    table_.selected = -1;
  }
  const plot::Range range = timeline_view_.x;
  std::string value = fmt::format("records={};blocks={};from_ns={:.0f};to_ns={:.0f};lanes={}",
                                  shown.visible_records, shown.drawn_blocks, range.min, range.max,
                                  fmt::join(model_.lanes().labels, ","));
  if (caption > 0.0F) value += fmt::format(";stamped_launches={}", shown.stamped_launches);
  if (timeline_view_.selection) {
    value += fmt::format(";selected_from_ns={:.0f};selected_to_ns={:.0f};selected_records={}",
                         timeline_view_.selection->min, timeline_view_.selection->max,
                         model_.records_in_range());
  }
  if (!timeline_view_.kept.empty()) value += fmt::format(";kept={}", timeline_view_.kept.size());
  if (find_.chosen()) {
    const profiling::ActivityRecord& record = activity.records[*find_.chosen()];
    value += fmt::format(";record={};record_start_ns={};record_node={}", *find_.chosen(),
                         record.start_ns, record.node_id);
  }
  controls::record(context, "performance.timeline", "timeline", "plot", value, at,
                   ImVec2(at.x + size.x, at.y + size.y));
  return {shown.left, shown.right};
}

}  // namespace app
