// One frame: bar, banners, rail, splitter, workspace, status. Sizes come from the theme, so that
// every text scale lays out alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/scopes.h"
#include "app/gui/shell/screenshot.h"
#include "app/gui/shell/shell.h"

namespace app {
namespace {

constexpr float kTopBarHeight = 40;
constexpr float kStatusHeight = 26;
constexpr float kHeadlineHeight = 56;
constexpr float kSplitterWidth = 8;
constexpr float kMinimumRail = 260;

/// Zero spacing and padding between the window's regions; each region sets its own.
class FlushLayout {
 public:
  FlushLayout() {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  }
  ~FlushLayout() { ImGui::PopStyleVar(2); }
  FlushLayout(const FlushLayout&) = delete;
  FlushLayout& operator=(const FlushLayout&) = delete;
};

/// Inside a region: the theme's own spacing again.
class ThemeSpacing {
 public:
  explicit ThemeSpacing(const Theme& theme) {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {theme.px(kGap), theme.px(kGapSmall)});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding,
                        {theme.px(kPanelPadding), theme.px(kPanelPadding)});
  }
  ~ThemeSpacing() { ImGui::PopStyleVar(2); }
  ThemeSpacing(const ThemeSpacing&) = delete;
  ThemeSpacing& operator=(const ThemeSpacing&) = delete;
};

constexpr ImGuiWindowFlags kFixed =
    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

}  // namespace

void Shell::draw(const Theme& theme, const PlotKeys& keys) {
  controls_.begin_frame();
  ++frame_;
  if (timing()) ++frames_while_timing_;
  const engine::RunRequest before = state_.requested;
  const SessionView now = view();
  CommandSlots commands;
  PlotKeys asked = keys;
  const PlotKeys by_name = std::exchange(asked_keys_, {});
  asked.export_trace |= by_name.export_trace;
  asked.export_records |= by_name.export_records;
  const PanelContext context{now,
                             commands,
                             theme,
                             controls_,
                             asked,
                             asked_graphs_view_,
                             asked_selection_ ? &*asked_selection_ : nullptr};
  {
    const FlushLayout flush;
    const OverlayScope root("##root", {0, 0}, ImGui::GetIO().DisplaySize, theme.colors.window,
                            kFixed | ImGuiWindowFlags_NoBringToFrontOnFocus);
    draw_root(context);
  }
  draw_overlays(context);
  carry_out(commands);
  if (const auto answer = std::exchange(library_answer_, std::nullopt)) answer_library(*answer);
  take_change(before);
  // Its own change of the request is its own step of the history.
  if (const auto wish = std::exchange(tour_wish_, std::nullopt)) act(*wish);
  if (const std::function<void()> chosen = std::exchange(chosen_, nullptr)) chosen();
  if (tour_) tour_->frame_drawn();
}

void Shell::take_change(const engine::RunRequest& before) {
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) ++gesture_;
  if (state_.requested == before || tour_) return;
  const bool dragged =
      ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseReleased(ImGuiMouseButton_Left);
  says_.clear();
  history_.changed(before, state_.requested, dragged ? gesture_ : 0);
  if (state_.live) submit();
}

void Shell::draw_root(const PanelContext& context) {
  const Theme& theme = context.theme;
  {
    const ChildScope bar("##top", {0, theme.px(kTopBarHeight)}, theme.colors.panel,
                         {theme.px(kPanelPadding), theme.px((kTopBarHeight - kRowHeight) / 2)},
                         kFixed);
    const ThemeSpacing spacing(theme);
    carry_out(draw_top_bar(
        context, {.workspace = state_.workspace,
                  .recording = recorder_ != nullptr,
                  .recording_path = recording_path_,
                  .recorded_runs = drawn_recording_.written,
                  .live_runs = state_.live_runs().size() + state_.live_comparisons().size() +
                               state_.live_visits().size(),
                  .run_names = run_names_.of(context.view.runs),
                  .recent = recent_files(),
                  .tours = tours_}));
  }
  ImGui::Dummy({0, 1});
  const float height = ImGui::GetContentRegionAvail().y - theme.px(kStatusHeight) - 1;
  if (settings_.rail_hidden) {
    ImGui::Dummy({theme.px(kGap), height});
  } else {
    draw_rail(context, height);
    ImGui::SameLine(0, 0);
    draw_splitter(context, height);
  }
  ImGui::SameLine(0, 0);
  draw_main(context, height);
  ImGui::Dummy({0, 1});
  const ChildScope status("##status", {0, 0}, theme.colors.panel, {theme.px(kPanelPadding), 0},
                          kFixed);
  const ThemeSpacing spacing(theme);
  if (draw_status_bar(context, {.last_error = state_.last_error, .says = says_})) cancel();
}

void Shell::draw_rail(const PanelContext& context, float height) {
  const Theme& theme = context.theme;
  const float width = std::min(theme.px(settings_.rail_width), ImGui::GetWindowWidth() * 0.45F);
  const ChildScope rail("##rail", {width, height}, theme.colors.panel, {0, 0}, kFixed);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {theme.px(kGap), theme.px(kGapSmall)});
  const RailWishes wishes =
      rail_.draw(context, link_, state_.requested, state_.live, state_.last_error);
  ImGui::PopStyleVar();
  carry_out(wishes);
}

void Shell::draw_splitter(const PanelContext& context, float height) {
  const Theme& theme = context.theme;
  const ImVec2 size = {theme.px(kSplitterWidth), height};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("##splitter", size);
  const bool active = ImGui::IsItemActive();
  if (active) {
    const float moved = ImGui::GetIO().MouseDelta.x / theme.scale;
    settings_.rail_width = std::clamp(settings_.rail_width + moved, kMinimumRail, 640.0F);
  }
  if (active || ImGui::IsItemHovered()) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    const float x = at.x + size.x / 2;
    ImGui::GetWindowDrawList()->AddLine({x, at.y}, {x, at.y + height}, theme.colors.accent,
                                        theme.px(2));
  }
  controls::record(context, "splitter.rail", "Width of the rail", "drag",
                   fmt::format("{:.0f}", settings_.rail_width), at, {at.x + size.x, at.y + size.y});
}

void Shell::draw_main(const PanelContext& context, float height) {
  const Theme& theme = context.theme;
  const ChildScope main("##main", {0, height}, theme.colors.window, {0, theme.px(kGap)}, kFixed);
  const ThemeSpacing spacing(theme);
  // The right edge keeps the same distance as the splitter on the left.
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {theme.px(kGap), theme.px(kGap)});
  const float width = ImGui::GetContentRegionAvail().x - theme.px(kGap);
  draw_link_banner(context);
  draw_recorder_banner(context);
  draw_library_question(context);
  notices_.draw(context);
  if (player_) draw_player(context);
  draw_tour_keeper(context);
  if (tour_ && tour_->step() != nullptr) {
    const Banner caption(context, "tour.caption", theme.colors.accent, tour_->step()->caption, 0);
  }
  if (context.view.run != nullptr && step_generation_ != context.view.run_generation) {
    step_generation_ = context.view.run_generation;
    step_ns_ = step_time_ns(context.view.run->result);
  }
  {
    const ChildScope headline("##headline", {width, theme.px(kHeadlineHeight)}, theme.colors.panel,
                              {theme.px(kPanelPadding), theme.px(6)}, kFixed);
    draw_headline(context, step_ns_);
  }
  const ImVec2 size = {width, ImGui::GetContentRegionAvail().y};
  {
    const ChildScope workspace("##workspace", size, theme.colors.window, {0, 0}, kFixed);
    panels_[static_cast<std::size_t>(state_.workspace)]->draw(context, size);
    if (state_.workspace == Workspace::Graphs) asked_graphs_view_ = -1;
  }
  ImGui::PopStyleVar();
}

void Shell::draw_link_banner(const PanelContext& context) {
  const LinkStatus& link = context.view.link;
  const bool lost = link.state == LinkState::Lost;
  const bool stalled = link.state == LinkState::Stalled;
  if (!link_.started() || !(lost || stalled || link.cancel_overdue)) return;
  const Theme& theme = context.theme;
  const std::string text =
      lost ? fmt::format("The worker is lost: {}. The last results stay on screen.", link.reason)
      : link.cancel_overdue
          ? fmt::format(
                "The worker does not answer Cancel{}. Replacing it ends the run; results "
                "stay on screen.",
                stalled ? ": " + link.reason : ", though it lives")
          : fmt::format("The worker is stalled: {}.", link.reason);
  const float start_width = theme.px(150);
  const float check_width = theme.px(170);
  const Banner banner(context, "banner.worker", lost ? theme.colors.bad : theme.colors.warn, text,
                      start_width + check_width + theme.px(kGap));
  const bool start = controls::button(
      context, "worker.start", lost ? "Start new worker" : "Replace the worker",
      {.tooltip = "Ends this worker if it still lives and starts another", .width = start_width});
  ImGui::SameLine();
  if (controls::checkbox(context, "worker.automatic", "Restart automatically", link_.automatic)) {
    settings_.restart_automatically = link_.automatic;
  }
  if (start) replace_worker();
}

/// While nothing can be written: the results wait in memory, and a person may know a better place.
void Shell::draw_recorder_banner(const PanelContext& context) {
  if (recorder_ == nullptr || drawn_recording_.error.empty()) return;
  const float width = context.theme.px(150);
  const Banner banner(
      context, "banner.recorder", context.theme.colors.bad,
      fmt::format("Not recording: {}. {} wait(s) in memory and is tried again every 2 s.",
                  drawn_recording_.error, drawn_recording_.waiting),
      width);
  if (controls::button(
          context, "recorder.elsewhere", "Record elsewhere",
          {.tooltip = "Copies the recording to another file and goes on there", .width = width})) {
    act(Action::RecordElsewhere);
  }
}

void Shell::draw_overlays(const PanelContext& context) {
  if (const auto choice = files_.draw(context)) take_choice(*choice);
  if (help_ && draw_help(context)) help_ = false;
  if (!palette_.is_open()) return;
  chosen_ = palette_.draw(context, palette_entries());
}

void Shell::save_picture(int width, int height) {
  if (!picture_ || picture_frames_-- > 0) return;
  const PictureOrder order = *std::exchange(picture_, std::nullopt);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  // A framebuffer may have more pixels than the window has units.
  const float across = static_cast<float>(width) / std::max(display.x, 1.0F);
  const float down = static_cast<float>(height) / std::max(display.y, 1.0F);
  const auto pixel = [](float at, float scale) {
    return static_cast<int>(std::lround(std::max(at, 0.0F) * scale));
  };
  PixelArea area{.x = pixel(order.min.x, across), .y = pixel(order.min.y, down)};
  area.width = std::min(pixel(order.max.x, across), width) - area.x;
  area.height = std::min(pixel(order.max.y, down), height) - area.y;
  screenshot_path_ = dated_path(order.stem.c_str(), ".png");
  const std::string problem = write_picture(screenshot_path_, area, height);
  notices_.add(problem.empty() ? Severity::Good : Severity::Bad,
               problem.empty() ? "Picture saved: " + screenshot_path_ : "No picture: " + problem);
  redraw_ = true;
}

void Shell::after_render(const Theme& theme, int width, int height) {
  if (tour_ && tour_->phase() == Tour::Phase::Shoot) {
    const std::string path = tour_->picture_path();
    const std::string problem = write_screenshot(path, width, height);
    if (!problem.empty()) return fail_tour(problem);
    fmt::print("{}\n", path);
    tour_->picture_written();
    if (tour_->phase() == Tour::Phase::Done) finish_tour();
  }
  save_picture(width, height);
  if (screenshot_wanted_) {
    screenshot_wanted_ = false;
    screenshot_path_ = dated_path("expertscope", ".png");
    const std::string problem = write_screenshot(screenshot_path_, width, height);
    notices_.add(problem.empty() ? Severity::Good : Severity::Bad,
                 problem.empty() ? "Picture saved: " + screenshot_path_ : "No picture: " + problem);
    redraw_ = true;
  }
  if (options_.control_map_path.empty()) return;
  const engine::Status status = engine::validate(state_.requested);
  const std::string problem =
      write_control_map(options_.control_map_path, controls_, view(),
                        {.frame = frame_,
                         .width = width,
                         .height = height,
                         .text_scale = theme.scale,
                         .pointer = ImGui::GetIO().MousePos,
                         .pointer_down = ImGui::GetIO().MouseDown[0],
                         .requested_id = link_.newest_id(),
                         .request_error = status.ok() ? "" : status.error().message,
                         .last_error = state_.last_error,
                         .live = state_.live,
                         .recording = recorder_ != nullptr,
                         .recording_path = recording_path_,
                         .screenshot_path = screenshot_path_,
                         .workspace = state_.workspace});
  if (!problem.empty()) notices_.add(Severity::Warn, problem);
}

}  // namespace app
