// Strips are as high as their wrapped text, so that a long reason is never cut.
#include "app/gui/shell/bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app {
namespace {

/// One strip with a sentence; buttons can follow on the same line.
class Banner {
 public:
  Banner(const PanelContext& context, const char* id, ImU32 color, const std::string& text,
         float buttons_width, ImFont* font = nullptr);
  ~Banner() { ImGui::EndChild(); }
  Banner(const Banner&) = delete;
  Banner& operator=(const Banner&) = delete;
};

Banner::Banner(const PanelContext& context, const char* id, ImU32 color, const std::string& words,
               float buttons_width, ImFont* font) {
  // A banner must leave room for what it is about.
  const std::string text = engine::shown_text(words, 1000);
  const Theme& theme = context.theme;
  // Ends where the panels below it end.
  const float width = ImGui::GetContentRegionAvail().x - theme.px(kGap);
  const float padding = theme.px(kGap);
  const float beside = width - buttons_width - theme.px(4) - 3 * padding;
  // Large text leaves no room beside the buttons: they go below it.
  const bool below = beside < theme.px(120);
  const float wrap = below ? width - theme.px(4) - 2 * padding : beside;
  if (font == nullptr) font = theme.fonts.body;
  const float text_height = [&] {
    const FontScope measured(font);
    return shown_size(text, wrap).y;
  }();
  const float row = theme.px(kRowHeight);
  const float gap = theme.px(kGapSmall);
  const float height = (below ? text_height + gap + row : std::max(text_height, row)) + 2 * gap;
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.colors.raised);
  ImGui::BeginChild(id, {width, height}, false, ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleColor();
  const ImVec2 at = ImGui::GetWindowPos();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + theme.px(4), at.y + height}, color,
                                            theme.px(2));
  ImGui::SetCursorPos({theme.px(4) + padding, below ? gap : (height - text_height) / 2});
  {
    const FontScope shown(font);
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
    show_text(text);
    ImGui::PopTextWrapPos();
  }
  const ImVec2 low = ImGui::GetItemRectMin();
  controls::record(context, id, "notice", "text", text, low, ImGui::GetItemRectMax());
  ImGui::SetCursorPos({std::max(theme.px(4) + padding, width - buttons_width - padding),
                       below ? height - row - gap : (height - row) / 2});
}

}  // namespace

void draw_link_banner(const PanelContext& context, LinkSupervisor& supervisor) {
  const LinkStatus& link = context.view.link;
  const bool lost = link.state == LinkState::Lost;
  const bool stalled = link.state == LinkState::Stalled;
  if (!supervisor.started() || !(lost || stalled || link.cancel_overdue)) return;
  const Theme& theme = context.theme;
  const std::string text =
      lost ? fmt::format("The worker is lost: {}. The last results stay on screen.", link.reason)
      : link.cancel_overdue
          ? fmt::format(
                "The worker does not answer Cancel{}. Replacing it ends the run; results "
                "stay on screen.",
                stalled ? ": " + link.reason : ", though it is alive")
          : fmt::format("The worker is stalled: {}.", link.reason);
  const float start_width = theme.px(150);
  const float check_width = theme.px(170);
  const Banner banner(context, "banner.worker", lost ? theme.colors.bad : theme.colors.warn, text,
                      start_width + check_width + theme.px(kGap));
  if (controls::button(context, "worker.start", lost ? "Start new worker" : "Replace the worker",
                       {.tooltip = "Ends this worker if it is still alive and starts another",
                        .width = start_width})) {
    context.commands.push_back(Action::ReplaceWorker);
  }
  ImGui::SameLine();
  controls::checkbox(context, "worker.automatic", "Restart automatically", supervisor.automatic);
}

void draw_recorder_banner(const PanelContext& context, const Recorder::Progress& progress) {
  if (progress.error.empty()) return;
  const float width = context.theme.px(150);
  const Banner banner(
      context, "banner.recorder", context.theme.colors.bad,
      fmt::format("Not recording: {}. {} wait(s) in memory and is tried again every 2 s.",
                  progress.error, progress.waiting),
      width);
  if (controls::button(context, "recorder.elsewhere", "Record elsewhere",
                       {.tooltip = "Copies the recording to another file and continues there",
                        .width = width})) {
    context.commands.push_back(Action::RecordElsewhere);
  }
}

void draw_library_question(const PanelContext& context, const LibraryConsent::Question* question) {
  if (question == nullptr) return;
  const Theme& theme = context.theme;
  const float width = theme.px(96);
  const Banner banner(
      context, "library.question", theme.colors.warn,
      fmt::format("{} names the cuBLASLt library {}. Loading a library runs its code on the "
                  "worker's machine, as you. Allow it only if you know it.",
                  question->file.empty() ? "A request" : question->file, question->library),
      2 * width + theme.px(kGapSmall));
  if (controls::button(context, "library.allow", "Allow once",
                       {.tooltip = "Ctrl+Shift+L; until this window is closed", .width = width})) {
    context.commands.push_back(Action::AllowLibrary);
  }
  ImGui::SameLine(0, theme.px(kGapSmall));
  if (controls::button(
          context, "library.refuse", "Refuse",
          {.tooltip = "Esc; the rail asks for the worker's own library instead", .width = width})) {
    context.commands.push_back(Action::RefuseLibrary);
  }
}

void draw_tour(const PanelContext& context, const Workbench& workbench) {
  const Tour* tour = workbench.tours.tour();
  if (tour == nullptr) return;
  const Theme& theme = context.theme;
  const TourStep& step = tour->step();
  const bool shown = tour->trouble().empty();
  if (workbench.tours.to_pictures()) {
    const Banner caption(context, "tour.caption", theme.colors.accent, step.caption, 0,
                         theme.fonts.title);
    return;
  }
  const std::size_t count = tour->script().steps.size();
  std::string text = fmt::format("{}  ·  {} of {}{}\n", tour->script().title, tour->index() + 1,
                                 count, step.title.empty() ? "" : "  ·  " + step.title);
  // A caption that describes something else than what is on screen would mislead.
  text += shown ? step.caption : "Stopped: " + tour->trouble();
  if (tour->phase() == Tour::Phase::Wait) text += "\nWorking on it ...";
  const float width = theme.px(62);
  const Banner banner(context, "tour.caption", shown ? theme.colors.accent : theme.colors.warn,
                      text, 4 * width + 3 * theme.px(kGapSmall), theme.fonts.title);
  const auto button = [&](Action action, const char* id, const char* label, const char* tooltip) {
    const std::string why = workbench.refusal(action);
    if (controls::button(
            context, id, label,
            {.enabled = why.empty(), .reason = why, .tooltip = tooltip, .width = width})) {
      context.commands.push_back(action);
    }
    ImGui::SameLine(0, theme.px(kGapSmall));
  };
  button(Action::TourBack, "tour.back", "Back", "The previous step (left arrow)");
  button(Action::TourPause, "tour.pause",
         !shown            ? "Retry"
         : tour->playing() ? "Pause"
                           : "Play",
         shown ? "Continue by itself, or stay here (Space)" : "This step again (Space)");
  button(Action::TourNext, "tour.next", "Next", "The next step (right arrow)");
  button(Action::TourStop, "tour.stop", "Stop", "Back to what was here before the tour (Esc)");
  controls::record(
      context, "tour.state", "tour", "text",
      fmt::format("step={};of={};playing={};shown={};trouble={}", tour->index() + 1, count,
                  tour->playing(), tour->phase() == Tour::Phase::Show, tour->trouble()),
      ImGui::GetWindowPos(), ImGui::GetWindowPos());
}

void draw_tour_draft(const PanelContext& context, TourController& tours) {
  TourController::Draft& draft = tours.draft;
  if (!draft.open) return;
  const Theme& theme = context.theme;
  const float width = theme.px(74);
  const float buttons = 3 * width + 3 * theme.px(kGapSmall);
  const float room = ImGui::GetContentRegionAvail().x - buttons - theme.px(4 + 4 * kGap);
  // Where there is no room for a sentence, the field's tooltip says what the bar is for.
  const bool narrow = room < theme.px(360);
  const float words = narrow ? std::max(room, theme.px(40)) : theme.px(200);
  const std::size_t steps = draft.steps.size();
  const std::string text =
      narrow ? std::string()
      : steps == 0
          ? std::string("A tour: show what the step is about, select in it, write its caption")
          : fmt::format("A tour of {} step{}: the next, or Save", steps, steps == 1 ? "" : "s");
  const Banner banner(context, "tour_keeper", theme.colors.accent, text, words + buttons);
  controls::input_text(context, "tour_keeper.words", "##tour_keeper.words", draft.words,
                       {.tooltip = "Caption of the tour's next step",
                        .hint = "caption of the next step",
                        .width = words});
  const auto button = [&](const char* id, const char* label, const char* why, const char* tooltip) {
    ImGui::SameLine(0, theme.px(kGapSmall));
    return controls::button(
        context, id, label,
        {.enabled = why[0] == '\0', .reason = why, .tooltip = tooltip, .width = width});
  };
  if (button("tour_keeper.add", "Add step", draft.words.empty() ? "Write its caption first" : "",
             "Page, run and selections as they are on screen now")) {
    tours.add_step();
  }
  if (button("tour_keeper.save", "Save", steps == 0 ? "There is no step yet" : "",
             "Writes the tour beside the last file; open it like a recording to play it")) {
    tours.save_draft();
  }
  if (button("tour_keeper.drop", "Drop", "", "Forget these steps")) tours.drop_draft();
}

}  // namespace app
