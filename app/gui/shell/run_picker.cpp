// The list of all runs at hand: of this window, then of the open recording.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>

#include "app/controllers/run_names.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace app {

namespace {

/// The runs of a sweep, and the blocks of an interleaved measurement.
std::vector<controls::Fold> folds_of(const SessionView& view) {
  std::vector<controls::Fold> folds;
  for (std::size_t i = 0; i < view.runs.size();) {
    const profiling::RunGroup& group = view.runs[i]->group;
    std::size_t end = i + 1;
    // A recording may hold what this window has measured, too.
    while (end < view.runs.size() && end != view.live_runs &&
           view.runs[end]->group.kind == group.kind && view.runs[end]->group.id == group.id) {
      ++end;
    }
    if (group.kind != profiling::GroupKind::None && end - i > 1) {
      const bool sweep = group.kind == profiling::GroupKind::Sweep;
      // Its id alone is not unique: a recording may hold a sweep of this window.
      const std::int64_t side = i < view.live_runs ? 1 : 0;
      folds.push_back({i, end - i, 4 * group.id + 2 * side + (sweep ? 1 : 0),
                       fmt::format("{} of {}: {} {}", sweep ? "Sweep" : "A/B", group_time(group.id),
                                   end - i, sweep ? "points" : "blocks")});
    }
    i = end;
  }
  return folds;
}

}  // namespace

const std::vector<std::string>& RunNames::of(const SessionView& view) {
  const std::uint64_t given = view.names == nullptr ? 0 : view.names->generation();
  if (view.runs == runs_ && view.live_runs == live_ && given == given_) return names_;
  runs_ = view.runs;
  live_ = view.live_runs;
  given_ = given;
  std::vector<ListedRun> listed;
  for (const auto& run : runs_) listed.push_back({run.get(), view.name_of(run)});
  const auto live = std::span<const ListedRun>(listed).first(live_);
  names_ = run_names(live);
  std::ranges::move(run_names(std::span<const ListedRun>(listed).subspan(live_)),
                    std::back_inserter(names_));
  folds_ = folds_of(view);
  return names_;
}

void RunPicker::draw(const PanelContext& context, float width) {
  const SessionView& view = context.view;
  std::vector<controls::Heading> headings;
  if (view.live_runs > 0) headings.push_back({0, "This window"});
  if (!view.session_path.empty()) {
    headings.push_back(
        {view.live_runs, std::filesystem::path(view.session_path).filename().string()});
  }
  int index = view.run == nullptr ? -1 : static_cast<int>(view.run_index);
  const std::vector<std::string>& names = names_.of(view);
  const controls::FilteredList list{names, std::move(headings), filter_, names_.folds(),
                                    &open_groups_};
  const controls::Options options{
      .tooltip = view.from_file ? "A run of " + engine::shown_path(view.session_path)
                                : "A run of this window",
      .width = width};
  bool open = false;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool chosen = controls::filtered_combo(context, "top.run", "", index, list, options, [&] {
    open = true;
    draw_below(context);
  });
  if (index < 0) {
    // The list may hold other runs: only the field is empty, and says why.
    const ImVec2 padding = ImGui::GetStyle().FramePadding;
    plot::draw_fitted(context, ImGui::GetFont(), ImVec2(at.x + padding.x, at.y + padding.y),
                      context.theme.colors.dim_text,
                      view.from_file ? "No run in this recording" : "No run yet",
                      width - ImGui::GetFrameHeight() - padding.x);
  }
  // A click elsewhere closes the list before the field can say that it was left.
  if (!open && std::exchange(edited_, false) && named_ == view.run_generation) give_name(context);
  if (chosen) context.commands.push_back(SelectRun{static_cast<std::size_t>(index)});
}

void RunPicker::give_name(const PanelContext& context) {
  context.commands.push_back(NameRun{engine::shown_text(name_, profiling::kMaxRunNameBytes - 3)});
}

void RunPicker::draw_below(const PanelContext& context) {
  const SessionView& view = context.view;
  ImGui::Separator();
  if (view.run != nullptr) {
    // A recording may hold a name that no field could show.
    const std::string now = engine::shown_text(view.name_of(view.run), profiling::kMaxRunNameBytes);
    if (named_ != view.run_generation) name_ = now;
    named_ = view.run_generation;
    controls::input_text(
        context, "top.run_name", "Name", name_,
        {.tooltip = "Name of the run on screen; empty = named by its data and settings",
         .hint = "by its data and settings"});
    edited_ = name_ != now;
    if (edited_ && ImGui::IsItemDeactivated()) give_name(context);
  }
  if (view.session_path.empty()) return;
  if (controls::button(context, "top.close_recording", "Close the recording",
                       {.tooltip = "Its runs leave the list", .width = -1})) {
    context.commands.push_back(Action::CloseRecording);
    ImGui::CloseCurrentPopup();
  }
}

}  // namespace app
