// A search visits all records, so it runs on a background thread; the field never waits.
#include "app/gui/panels/timeline_find.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/trace/record_search.h"

namespace app {

void TimelineFind::show(const std::shared_ptr<const RunPicture>& run) {
  if (run == run_) return;
  run_ = run;
  chosen_.reset();
  search();
}

void TimelineFind::search() {
  hits_.reset();
  task_.drop();
  typed_ = false;
  asked_step_ = 0;
  if (text_.empty() || run_ == nullptr) return;
  task_.start([run = run_, text = text_] {
    const profiling::Activity& activity = run->run->activity;
    const engine::StepKind step = run->run->result.effective.step;
    return std::make_shared<const SearchHits>(
        SearchHits{.run = run,
                   .text = text,
                   .lod = {activity.records, profiling::find_records(activity, step, text)}});
  });
}

bool TimelineFind::take() {
  auto made = task_.take();
  if (made) hits_ = std::move(*made);
  return made.has_value();
}

const profiling::TimelineLod* TimelineFind::hits() const {
  return hits_ == nullptr || hits_->lod.size() == 0 ? nullptr : &hits_->lod;
}

std::string TimelineFind::count() const {
  if (text_.empty()) return "";
  if (hits_ == nullptr) return "...";
  if (hits_->lod.size() == 0) return no_hit();
  const auto members = hits_->lod.members();
  const std::string all = plot::count_text(members.size());
  if (!chosen_) return all;
  const auto found = std::lower_bound(members.begin(), members.end(), *chosen_);
  if (found == members.end() || *found != *chosen_) return all;
  return fmt::format(
      "{} / {}", plot::count_text(static_cast<std::uint64_t>(found - members.begin()) + 1), all);
}

std::string TimelineFind::no_hit() const {
  const bool expert = profiling::searched_expert(text_) >= 0;
  if (!expert || hits_->run->names_experts) return "no record";
  // Of a launch for all experts no record can be found by one of them.
  return "no record names an expert";
}

bool TimelineFind::step(int direction, double view_begin_ns) {
  if (hits() == nullptr) return false;
  const auto members = hits_->lod.members();
  if (!chosen_) {
    // Start where the user is looking, not at the start of the recording.
    const auto before = static_cast<std::int64_t>(std::ceil(view_begin_ns)) - 1;
    chosen_ = members[hits_->lod.started_by(before) % members.size()];
    return true;
  }
  chosen_ = members[profiling::next_hit(members, *chosen_, direction).value_or(0)];
  return true;
}

std::optional<std::uint32_t> TimelineFind::hit_to_show(plot::Range view) {
  if (hits_ == nullptr) return std::nullopt;
  const bool typed = std::exchange(typed_, false);
  const int direction = std::exchange(asked_step_, 0);
  if (hits() == nullptr) return std::nullopt;
  if (direction != 0) return step(direction, view.min) ? chosen_ : std::nullopt;
  if (!typed || view.empty()) return std::nullopt;
  const auto members = hits_->lod.members();
  const auto& records = hits_->lod.records();
  const std::size_t before =
      hits_->lod.started_by(static_cast<std::int64_t>(std::ceil(view.min)) - 1);
  // One that began before the view may reach into it.
  const bool reaches =
      before > 0 && static_cast<double>(records[members[before - 1]].end_ns) > view.min;
  const bool begins =
      before < members.size() && static_cast<double>(records[members[before]].start_ns) < view.max;
  if (reaches || begins) return std::nullopt;
  return members[before % members.size()];
}

std::optional<std::uint32_t> TimelineFind::draw(const PanelContext& context, float width,
                                                plot::Range view) {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const std::string said = count();
  const float room = plot::text_size(font, said).x + theme.px(kGapSmall);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (context.keys.find || focus_) ImGui::SetKeyboardFocusHere();
  focus_ = false;
  ImGui::SetNextItemWidth(width);
  const std::string before = text_;
  const bool entered =
      controls::text_field("##performance.find", "find: name, stage, e5   /", text_,
                           ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll,
                           controls::kMaxSearchedBytes);
  controls::note_if_full(context, "performance.find", text_, controls::kMaxSearchedBytes);
  const bool typing = ImGui::IsItemActive();
  // ImGui restores what was there before; of a search there is nothing to go back to.
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) {
    text_.clear();
  }
  const ImVec2 low = ImGui::GetItemRectMin();
  const ImVec2 high = ImGui::GetItemRectMax();
  if (ImGui::IsItemHovered()) {
    controls::tooltip(
        context,
        "Finds records by part of a kernel's name, by stage, or by expert as e5. Enter "
        "goes to the next, Shift+Enter to the previous; Esc clears the search.");
  }
  if (text_ != before) {
    search();
    typed_ = true;
  }
  plot::draw_text(ImGui::GetWindowDrawList(), font,
                  ImVec2(at.x + width - room, 0.5F * (low.y + high.y - font->FontSize)),
                  theme.colors.dim_text, said);
  controls::record(context, "performance.find", "Find records", typing ? "input" : "search",
                   fmt::format("{};{}", text_, said), low, high);
  if (entered) {
    // The next Enter continues without a click.
    focus_ = true;
    asked_step_ = ImGui::GetIO().KeyShift ? -1 : 1;
  }
  return hit_to_show(view);
}

bool TimelineFind::handle_keys(const PlotKeys& keys, const plot::TimelineLanes& lanes) {
  if (run_ == nullptr || (keys.event == 0 && keys.edge == 0)) return false;
  const profiling::Activity& activity = run_->run->activity;
  if (activity.records.empty()) return false;
  if (!chosen_) {
    // Stepping starts at the first record of the timed part.
    const auto first = std::ranges::find_if(
        activity.records, [](const auto& record) { return record.iteration >= 0; });
    const std::ptrdiff_t index = first - activity.records.begin();
    chosen_ = first == activity.records.end() ? 0U : static_cast<std::uint32_t>(index);
    return true;
  }
  const auto next = keys.event != 0
                        ? profiling::neighbour(lanes.lanes, activity, *chosen_, keys.event)
                        : profiling::along_edge(activity, *chosen_, keys.edge);
  if (!next) return false;
  chosen_ = *next;
  return true;
}

}  // namespace app
