// The rail's footer: Run, Live, what blocks the run, and where effective settings differ from
// requested ones, or will.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "app/controllers/foreseen_changes.h"
#include "app/controllers/request_controls.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/theme/text.h"
#include "engine/gemm/support.h"

namespace app {

void ControlRail::draw_footer(engine::RunRequest& request, bool live,
                              const std::string& last_error) {
  const Theme& theme = context_->theme;
  draw_deviations(request);
  if (context_->view.recorded_request) return draw_take_over();
  if (!last_error.empty() || !problem_.message.empty()) {
    const std::string& text = problem_.message.empty() ? last_error : problem_.message;
    show_error(text);
    controls::record(*context_, "run.error", "What blocks the run", "text", text,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
  const LinkState state = link_->status().state;
  controls::Options run;
  run.width = (ImGui::GetContentRegionAvail().x - theme.px(kGap)) * 0.55F;
  run.tooltip = "Run this request once (Ctrl+R or F5)";
  if (!problem_.message.empty()) {
    run.enabled = false;
    run.reason = problem_.message;
  } else if (state == LinkState::Lost) {
    run.enabled = false;
    run.reason = "There is no worker: " + link_->status().reason;
  }
  if (link_->waiting() && state != LinkState::Lost) {
    if (controls::button(*context_, "run.cancel", "Cancel", {.width = run.width})) {
      wishes_.cancel = true;
    }
  } else {
    ImGui::PushStyleColor(ImGuiCol_Button, theme.colors.accent);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.colors.accent);
    const TextColorScope color(theme.colors.window);
    wishes_.run = controls::button(*context_, "run.now", "Run", run);
    ImGui::PopStyleColor(2);
  }
  ImGui::SameLine(0, theme.px(kGapLarge));
  if (controls::checkbox(*context_, "run.live", "Live", live,
                         {.tooltip = "Every change of a control runs at once; the newest wins."})) {
    context_->commands.push_back(Action::ToggleLive);
  }
}

void ControlRail::show_error(const std::string& text) {
  const TextColorScope color(context_->theme.colors.bad);
  if (shown_size(text, ImGui::GetContentRegionAvail().x).y <= error_height_) {
    return show_wrapped(text);
  }
  {
    const ChildScope part("##run_error", {0, error_height_}, context_->theme.colors.panel, {0, 0});
    show_wrapped(text);
  }
  if (ImGui::IsMouseHoveringRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax()) &&
      ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) {
    controls::tooltip(*context_, text);
  }
}

void ControlRail::draw_take_over() {
  const Theme& theme = context_->theme;
  ImGui::PushStyleColor(ImGuiCol_Button, theme.colors.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.colors.accent);
  const TextColorScope color(theme.colors.window);
  if (controls::button(*context_, "run.use_recorded", "Use as my request",
                       {.tooltip = "Leaves the recording with this request in the rail, where it "
                                   "can be changed and run; Ctrl+Z comes back",
                        .width = -1})) {
    context_->commands.push_back(Action::UseRecordedRequest);
  }
  ImGui::PopStyleColor(2);
}

void ControlRail::draw_deviations(engine::RunRequest& request) {
  const SessionView& view = context_->view;
  const bool own = !view.from_file && !view.recorded_request && view.hello;
  if (own && !view.answers) {
    const std::vector<engine::Deviation> coming = foreseen_changes(request, *view.hello);
    if (!coming.empty()) draw_changes("Run will change here:", coming, request, Reasons::InTooltip);
    // Of a run that had other settings it would say nothing about this request.
    if (!coming.empty()) return draw_use_cpu(request);
  }
  if (view.run == nullptr) return;
  const FontScope font(context_->theme.fonts.label);
  const std::vector<engine::Deviation>& deviations = view.run->result.deviations;
  // The request in the rail may have changed since; a recording has its own.
  const char* whose = view.from_file ? "The recorded run: "
                      : view.answers ? ""
                                     : "The run on screen: ";
  if (deviations.empty()) {
    const TextColorScope color(context_->theme.colors.dim_text);
    const std::string line =
        whose[0] == '\0' ? "Effective = requested" : std::string(whose) + "effective = requested";
    show_text(line);
    controls::record(*context_, "deviations", line.c_str(), "text", "", ImGui::GetItemRectMin(),
                     ImGui::GetItemRectMax());
    return;
  }
  draw_changes(whose, deviations, view.run->request, Reasons::Below);
  if (own) draw_use_cpu(request);
}

void ControlRail::draw_changes(const char* whose, const std::vector<engine::Deviation>& deviations,
                               const engine::RunRequest& requested, Reasons reasons) {
  const Theme& theme = context_->theme;
  const FontScope font(theme.fonts.label);
  std::string all;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (whose[0] != '\0') {
    const TextColorScope color(theme.colors.dim_text);
    show_text(whose);
  }
  std::vector<std::string> without_effect;
  for (const engine::Deviation& one : deviations) {
    const std::string label = setting_label(one.field);
    const std::string line =
        fmt::format("{}: {} → {}", label, setting_value(one.field, one.requested),
                    setting_value(one.field, one.effective));
    all += line + ": " + one.reason + "\n";
    // Left from another recipe or backend; its control is disabled and says why.
    if (!engine::inapplicable_reason(one.field, requested).empty()) {
      without_effect.push_back(label);
      continue;
    }
    {
      const TextColorScope color(theme.colors.warn);
      show_wrapped(line);
    }
    if (reasons == Reasons::InTooltip) {
      if (ImGui::IsItemHovered()) controls::tooltip(*context_, one.reason);
      continue;
    }
    const TextColorScope color(theme.colors.dim_text);
    show_wrapped(one.reason);
  }
  if (!without_effect.empty()) {
    const TextColorScope color(theme.colors.dim_text);
    show_wrapped(fmt::format("No effect here: {}", fmt::join(without_effect, ", ")));
  }
  controls::record(*context_, "deviations", "Deviations", "text", all, at, ImGui::GetItemRectMax());
}

void ControlRail::draw_use_cpu(engine::RunRequest& request) {
  if (!cpu_replaces_device(request, *context_->view.hello)) return;
  if (controls::button(*context_, "run.use_cpu", "Use the CPU reference",
                       {.tooltip = "Sets Backend: recipes and other settings that only this "
                                   "backend has can then be chosen. Ctrl+Z undoes it",
                        .width = -1})) {
    request.backend = engine::GemmBackend::CpuReference;
  }
}

}  // namespace app
