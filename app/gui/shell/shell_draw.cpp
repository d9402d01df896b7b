// One frame: bar, rail, splitter, page, strip of banners, status. Sizes come from the theme, so
// that every text scale lays out alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/saved_frame.h"
#include "app/gui/shell/shell.h"
#include "app/gui/theme/text.h"
#include "engine/model/path_text.h"
#include "profiling/power/step_times.h"

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

/// The panel that the caption of a tour speaks of, while what it describes is on screen.
std::string_view outlined_panel(const TourController& tours) {
  const Tour* tour = tours.tour();
  const bool shown =
      tour != nullptr && tour->phase() == Tour::Phase::Show && tour->trouble().empty();
  return shown ? std::string_view(tour->step().panel) : std::string_view();
}

constexpr ImGuiWindowFlags kFixed =
    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

}  // namespace

void Shell::draw(const Theme& theme, const PlotKeys& keys) {
  controls_.begin_frame();
  ++frame_;
  workbench_.runs.frame_drawn();
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) ++gesture_;
  const SessionView now = view();
  PlotKeys pressed = keys;
  const PlotKeys ordered = std::exchange(ordered_keys_, {});
  pressed.export_trace |= ordered.export_trace;
  pressed.export_records |= ordered.export_records;
  if (std::exchange(page_closed_front_, false)) pressed.clear = false;
  std::vector<Command> commands;
  PresentingPass pass = presenting_pass();
  const PanelContext context{.view = now,
                             .commands = commands,
                             .theme = theme,
                             .controls = controls_,
                             .number_edit = number_edit_,
                             .keys = pressed,
                             .pressed_button = ordered_button_.order.id,
                             .outlined = outlined_panel(workbench_.tours),
                             .presenting = presenting() ? &pass : nullptr,
                             .presented = settings_.presented};
  {
    const FlushLayout flush;
    const OverlayScope root("##root", {0, 0}, ImGui::GetIO().DisplaySize, theme.colors.window,
                            kFixed | ImGuiWindowFlags_NoBringToFrontOnFocus);
    draw_root(context);
  }
  follow_ordered_button();
  draw_overlays(context);
  if (presenting()) follow_presented(pass);
  drawn_page_ = {.page = page_, .view = std::string(page().view()), .selection = page().selected()};
  workbench_.tours.frame_drawn(drawn_page_);
  for (const Command& command : commands) carry_out(command);
}

void Shell::draw_root(const PanelContext& context) {
  const Theme& theme = context.theme;
  const FilesController& files = workbench_.files;
  const SessionState& state = workbench_.runs.state;
  const bool presented = context.presenting != nullptr;
  if (presented) {
    ImGui::Dummy({0, presented_height(theme)});
  } else {
    const ChildScope bar("##top", {0, theme.px(kTopBarHeight)}, theme.colors.panel,
                         {theme.px(kPanelPadding), theme.px((kTopBarHeight - kRowHeight) / 2)},
                         kFixed);
    const ThemeSpacing spacing(theme);
    draw_top_bar(context,
                 {.page = page_,
                  .machine = machine_words_of(workbench_.machine.status(), context.view,
                                              workbench_.connection_lost()),
                  .recording = files.recording(),
                  .recording_path = files.recording_path(),
                  .recorded_runs = files.recording_progress().written.runs,
                  .live_results = state.live_count(),
                  .page_refusal = workbench_.refusal(Action::ExportPage),
                  .recent = files.recent(),
                  .tours = workbench_.tours.shipped()},
                 run_picker_);
  }
  ImGui::Dummy({0, 1});
  const std::vector<Banner> asking = banners(context);
  const bool strip_open = strip_.takes_room(!asking.empty(), page_);
  // A presented card gets the room of a strip that is only kept open.
  const bool has_strip = strip_open && !(presented && asking.empty());
  const float strip = has_strip ? strip_height(theme) : 0.0F;
  const float status_height = presented ? 0.0F : theme.px(kStatusHeight) + 1;
  const float height = ImGui::GetContentRegionAvail().y - strip - status_height;
  if (settings_.rail_hidden || presented) {
    ImGui::Dummy({theme.px(kGap), height});
  } else {
    draw_rail(context, height);
    ImGui::SameLine(0, 0);
    draw_splitter(context, height);
  }
  ImGui::SameLine(0, 0);
  draw_main(context, height);
  if (presented) {
    // After the page, which knows the title of its card.
    const ImVec2 below = ImGui::GetCursorPos();
    ImGui::SetCursorPos({0, 0});
    {
      const ChildScope line("##presented", {0, presented_height(theme)}, theme.colors.panel,
                            {theme.px(kPanelPadding), 0}, kFixed);
      draw_presented_line(context);
    }
    ImGui::SetCursorPos(below);
  }
  if (strip > 0.0F) {
    const ChildScope below("##strip", {0, strip}, theme.colors.panel, {0, 0}, kFixed);
    const ThemeSpacing spacing(theme);
    strip_.draw(context, asking);
  }
  if (presented) return;
  ImGui::Dummy({0, 1});
  const ChildScope status("##status", {0, 0}, theme.colors.panel, {theme.px(kPanelPadding), 0},
                          kFixed);
  const ThemeSpacing spacing(theme);
  // It is of a run of this window, which a recording on screen has nothing to do with.
  draw_status_bar(context, state.from_file() ? std::string() : state.last_error,
                  workbench_.notices);
}

void Shell::draw_rail(const PanelContext& context, float height) {
  const Theme& theme = context.theme;
  SessionState& state = workbench_.runs.state;
  const float width = std::min(theme.px(settings_.rail_width), ImGui::GetWindowWidth() * 0.45F);
  const ChildScope rail("##rail", {width, height}, theme.colors.panel, {0, 0}, kFixed);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {theme.px(kGap), theme.px(kGapSmall)});
  const engine::RunRequest& shown = context.view.requested;
  if (request_in_rail_ != shown) rail_.follow(shown);
  request_in_rail_ = shown;
  const RailWishes wishes = rail_.draw(context, workbench_.runs.link, request_in_rail_,
                                       settings_.rail_sections, state.live, state.last_error);
  ImGui::PopStyleVar();
  std::vector<Command>& commands = context.commands;
  if (context.view.recorded_request) {
    // A control clamps what it draws; a recorded request stays as it is.
    request_in_rail_ = shown;
    return;
  }
  if (request_in_rail_ != shown) {
    commands.push_back(EditRequest{.request = request_in_rail_, .run = wishes.run});
  } else if (wishes.run) {
    commands.push_back(Action::Run);
  }
  if (wishes.cancel) commands.push_back(Action::Cancel);
  if (wishes.browse) commands.push_back(AskPath{*wishes.browse});
  if (wishes.tensor) commands.push_back(*wishes.tensor);
  if (wishes.dump) commands.push_back(*wishes.dump);
  if (wishes.inspect) commands.push_back(InspectFile{*wishes.inspect});
  if (wishes.cublaslt) commands.push_back(StartWorker{*wishes.cublaslt});
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
  const std::pair step_key(context.view.run_generation, context.view.skip_throttled);
  if (context.view.run != nullptr && step_key_ != step_key) {
    step_key_ = step_key;
    const profiling::RecordedRun& run = *context.view.run;
    const std::vector<double> durations =
        profiling::step_times(run.result.iterations, run.power.samples)
            .counted_ns(context.view.skip_throttled);
    step_precision_ = profiling::median_precision(durations);
    step_ns_ = profiling::summarize(durations);
  }
  if (context.presenting == nullptr) {
    // Without figures it is one line.
    const bool figures = context.view.run != nullptr && !context.view.subject;
    const float high = figures ? kHeadlineHeight : kRowHeight + 12;
    const ChildScope headline("##headline", {width, theme.px(high)}, theme.colors.panel,
                              {theme.px(kPanelPadding), theme.px(6)}, kFixed);
    draw_headline(context, step_ns_, step_precision_);
  }
  const ImVec2 size = {width, ImGui::GetContentRegionAvail().y};
  {
    const ChildScope shown("##page", size, theme.colors.window, {0, 0}, kFixed);
    if (PresentingPass* const pass = context.presenting) {
      pass->at = ImGui::GetCursorScreenPos();
      pass->size = size;
      pass->controls_before = controls_.entries().size();
    }
    page().draw(context, size);
  }
  ImGui::PopStyleVar();
}

std::vector<Banner> Shell::banners(const PanelContext& context) {
  std::vector<Banner> all;
  const auto add = [&all](std::optional<Banner> one) {
    if (one) all.push_back(std::move(*one));
  };
  add(library_banner(context, workbench_.library_question()));
  add(long_run_banner(context, workbench_.runs.long_run()));
  const std::string& lost = workbench_.connection_lost();
  std::optional<Banner> machine =
      machine_banner(context, workbench_.machine.status(), lost, machine_dialog_.is_open());
  // Of a worker that went with its connection, the connection is what there is to speak of.
  if (!machine && lost.empty()) machine = link_banner(context, workbench_.runs.link);
  add(std::move(machine));
  add(recorder_banner(context, workbench_.files.recording_progress()));
  add(tour_banner(context, workbench_));
  if (first_start_ && !presenting()) {
    add(welcome_banner(context, workbench_.tours, welcome_closed_));
  }
  add(draft_banner(context, workbench_.tours, ImGui::GetWindowWidth()));
  return all;
}

void Shell::draw_overlays(const PanelContext& context) {
  if (const auto choice = dialog_.draw(context)) use_path(*choice);
  machine_dialog_.draw(context, workbench_.machine);
  attach_dialog_.draw(context, workbench_.attach, settings_.programs);
  if (help_ && draw_help(context)) help_ = false;
  if (closing_.question().open) answer_close(draw_close_question(context, closing_.question()));
  if (!palette_.is_open()) return;
  palette_.draw(context, palette_entries({.workbench = workbench_,
                                          .shown = controls_,
                                          .refusal = [&](Page page, std::string_view button) {
                                            return pages_[static_cast<std::size_t>(page)]->refusal(
                                                context.view, button);
                                          }}));
}

void Shell::save_picture(const std::string& stem, int width, int height) {
  screenshot_path_ = workbench_.files.dated_path(stem, ".png");
  const std::string problem = write_screenshot(screenshot_path_, width, height);
  workbench_.notices.add(problem.empty() ? Severity::Good : Severity::Bad,
                         problem.empty() ? "Picture saved: " + engine::shown_path(screenshot_path_)
                                         : "No picture: " + problem);
}

std::optional<PictureOrder> Shell::take_due_picture() {
  if (!picture_ || picture_frames_-- > 0) return std::nullopt;
  return std::exchange(picture_, std::nullopt);
}

void Shell::draw_picture(const Theme& theme, PicturePass& pass) {
  const SessionView now = view();
  std::vector<Command> dropped;
  ControlMap unused;
  NumberEdit no_edit;
  const PanelContext context{.view = now,
                             .commands = dropped,
                             .theme = theme,
                             .controls = unused,
                             .number_edit = no_edit,
                             .picture = &pass};
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  {
    const FlushLayout flush;
    const OverlayScope root("##root", {0, 0}, {display.x, display.y - theme.px(kCaptionHeight)},
                            theme.colors.window, kFixed | ImGuiWindowFlags_NoBringToFrontOnFocus);
    draw_root(context);
  }
  if (pass.max.x <= pass.min.x || pass.caption.empty()) return;
  // Over whatever lies below the card.
  const ImFont* font = theme.fonts.label;
  const float edge = theme.px(kGap);
  const float width = pass.max.x - pass.min.x - 2.0F * edge;
  const float height =
      std::min(shown_size(font, pass.caption, width).y + edge, theme.px(kCaptionHeight));
  const ImVec2 low(pass.min.x, pass.max.y);
  pass.max.y += height;
  ImDrawList* draw = ImGui::GetForegroundDrawList();
  draw->AddRectFilled(low, pass.max, theme.colors.window);
  draw_shown(draw, font, {low.x + edge, low.y + 0.5F * edge}, theme.colors.dim_text, pass.caption,
             width);
}

void Shell::save_card_picture(const PictureOrder& order, int width, int height, bool drawn) {
  if (drawn) return save_picture(order.stem, width, height);
  workbench_.notices.add(Severity::Bad,
                         "No picture: the card is not on screen, or OpenGL has no framebuffer "
                         "objects");
}

void Shell::write_pictures(int width, int height) {
  TourController& tours = workbench_.tours;
  if (const auto path = tours.wanted_picture()) {
    const std::string problem = write_screenshot(*path, width, height);
    if (problem.empty()) fmt::print("{}\n", *path);
    tours.picture_written(problem);
    take_end_of_tour();
  }
  if (std::exchange(screenshot_wanted_, false)) save_picture("expertscope", width, height);
}

void Shell::after_render(const Theme& theme, int width, int height) {
  write_pictures(width, height);
  if (options_.control_map_path.empty()) return;
  const SessionState& state = workbench_.runs.state;
  const engine::Status status = engine::validate(state.requested);
  const std::string problem = write_control_map(
      options_.control_map_path, controls_, view(),
      {.frame = frame_,
       .frames_left = frames_left_,
       .width = width,
       .height = height,
       .text_scale = theme.scale,
       .pointer = ImGui::GetIO().MousePos,
       .pointer_down = ImGui::GetIO().MouseDown[0],
       .requested_id = workbench_.runs.link.newest_id(),
       .request_error = status.ok() ? "" : status.error().message,
       .last_error = state.last_error.empty() ? state.file_error : state.last_error,
       .live = state.live,
       .recording = workbench_.files.recording(),
       .recording_path = workbench_.files.recording_path(),
       .screenshot_path = screenshot_path_,
       .page = drawn_page_.page});
  if (!problem.empty()) workbench_.notices.add(Severity::Warn, problem);
}

}  // namespace app
