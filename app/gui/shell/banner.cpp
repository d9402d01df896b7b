// Banners: the strip above the status bar that shows what needs an answer.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

/// The worker of this machine has said so.
bool has_no_gpu(const SessionView& view) {
  return view.host.empty() && view.hello &&
         std::ranges::none_of(view.hello->backends, [](const BackendOffer& offer) {
           return offer.available && engine::traits_of(offer.kind).device;
         });
}

}  // namespace

std::optional<Banner> link_banner(const PanelContext& context, LinkSupervisor& supervisor) {
  const LinkStatus& link = context.view.link;
  const bool lost = link.state == LinkState::Lost;
  const bool stalled = link.state == LinkState::Stalled;
  if (!supervisor.started() || !(lost || stalled || link.cancel_overdue)) return std::nullopt;
  const Theme& theme = context.theme;
  const std::string text =
      lost ? fmt::format("The worker is lost: {}. The last results stay on screen.", link.reason)
      : link.cancel_overdue
          ? fmt::format(
                "The worker does not answer Cancel{}. Replacing it ends the run; results "
                "stay on screen.",
                stalled ? ": " + link.reason : ", though it is alive")
          : fmt::format("The worker is stalled: {}.", link.reason);
  const float start = theme.px(150);
  return Banner{.id = "banner.worker",
                .color = lost ? theme.colors.bad : theme.colors.warn,
                .text = text,
                .width = start + theme.px(170 + kGap),
                .actions = [&context, &supervisor, lost, start](float) {
                  if (controls::button(
                          context, "worker.start", lost ? "Start new worker" : "Replace the worker",
                          {.tooltip = "Ends this worker if it is still alive and starts another",
                           .width = start})) {
                    context.commands.push_back(Action::ReplaceWorker);
                  }
                  ImGui::SameLine();
                  controls::checkbox(context, "worker.automatic", "Restart automatically",
                                     supervisor.automatic);
                }};
}

std::optional<Banner> recorder_banner(const PanelContext& context,
                                      const Recorder::Progress& progress) {
  if (progress.error.empty()) return std::nullopt;
  const float width = context.theme.px(150);
  return Banner{
      .id = "banner.recorder",
      .color = context.theme.colors.bad,
      .text = fmt::format("Not recording: {}. {} pending; retrying every 2 s.", progress.error,
                          progress.waiting),
      .width = width,
      .actions = [&context, width](float) {
        if (controls::button(context, "recorder.elsewhere", "Record elsewhere",
                             {.tooltip = "Copies the recording to another file and continues there",
                              .width = width})) {
          context.commands.push_back(Action::RecordElsewhere);
        }
      }};
}

std::optional<Banner> library_banner(const PanelContext& context,
                                     const LibraryConsent::Question* question) {
  if (question == nullptr) return std::nullopt;
  const Theme& theme = context.theme;
  const float width = theme.px(96);
  return Banner{
      .id = "library.question",
      .color = theme.colors.warn,
      .text =
          fmt::format("{} names the cuBLASLt library {}. Loading a library runs its code on the "
                      "worker's machine, as you. Allow it only if you know it.",
                      question->file.empty() ? "A request" : question->file, question->library),
      .width = 2 * width + theme.px(kGapSmall),
      .actions = [&context, width](float) {
        if (controls::button(
                context, "library.allow", "Allow once",
                {.tooltip = "Ctrl+Shift+L; until this window is closed", .width = width})) {
          context.commands.push_back(Action::AllowLibrary);
        }
        ImGui::SameLine(0, context.theme.px(kGapSmall));
        if (controls::button(
                context, "library.refuse", "Refuse",
                {.tooltip = "Esc; the request then uses the worker's library", .width = width})) {
          context.commands.push_back(Action::RefuseLibrary);
        }
      }};
}

std::optional<Banner> welcome_banner(const PanelContext& context, const TourController& tours,
                                     bool& closed) {
  const auto first = std::ranges::find_if(tours.shipped(), [](const TourController::Named& one) {
    return one.path.ends_with("/first_steps.json");
  });
  if (closed || tours.tour() != nullptr || first == tours.shipped().end()) return std::nullopt;
  const float width = context.theme.px(120);
  const float small = context.theme.px(64);
  const float connect = has_no_gpu(context.view) ? context.theme.px(190) : 0.0F;
  return Banner{
      .id = "welcome",
      .color = context.theme.colors.accent,
      .text =
          "Expertscope runs one step of a Mixture-of-Experts layer, quantization and grouped "
          "matmuls, and shows its times, its numbers and its CUDA graph.",
      .width = width + small + connect + context.theme.px(2 * kGapSmall),
      .actions =
          [&context, &closed, path = first->path, width, small, connect](float) {
            if (connect > 0) {
              if (controls::button(context, "welcome.connect", "Connect to a GPU machine",
                                   {.tooltip = "No NVIDIA GPU here; one that ssh reaches will do",
                                    .width = connect})) {
                context.commands.push_back(Action::ChooseMachine);
              }
              ImGui::SameLine(0, context.theme.px(kGapSmall));
            }
            if (controls::button(context, "welcome.tour", "First steps",
                                 {.tooltip = "A short tour, on this machine", .width = width})) {
              closed = true;
              context.commands.push_back(PlayTour{path});
            }
            ImGui::SameLine(0, context.theme.px(kGapSmall));
            if (controls::button(
                    context, "welcome.close", "Close",
                    {.tooltip = "Tours are in Examples, beside Open", .width = small})) {
              closed = true;
            }
          },
      .last = true};
}

std::optional<Banner> long_run_banner(const PanelContext& context, const LongRun* run) {
  // It asks about the user's own request, whatever else is shown.
  if (run == nullptr || context.view.from_file || context.presenting != nullptr) {
    return std::nullopt;
  }
  const float width = context.theme.px(104);
  const bool fits = run->shrinks();
  const std::string smaller = run->shrunk_words();
  return Banner{.id = "long_run.question",
                .color = context.theme.colors.warn,
                .text = fmt::format("This run {}.{}", run->words(),
                                    fits ? " Shrunk to " + smaller + "." : ""),
                .width = 3 * width + 2 * context.theme.px(kGapSmall),
                .actions = [&context, width, fits, smaller](float) {
                  const auto button = [&](const char* id, const char* label, LongRunAnswer answer,
                                          controls::Options options) {
                    options.width = width;
                    if (controls::button(context, id, label, options)) {
                      context.commands.push_back(AnswerLongRun{answer});
                    }
                  };
                  button("long_run.run", "Run anyway", LongRunAnswer::Run,
                         {.tooltip = "However long it takes"});
                  ImGui::SameLine(0, context.theme.px(kGapSmall));
                  button("long_run.shrink", "Shrink to fit", LongRunAnswer::Shrink,
                         {.enabled = fits,
                          .reason = "Its sizes come from files, or cannot become smaller",
                          .tooltip = smaller});
                  ImGui::SameLine(0, context.theme.px(kGapSmall));
                  button("long_run.drop", "Don't run", LongRunAnswer::Drop, {.tooltip = "Esc"});
                }};
}

std::optional<Banner> tour_banner(const PanelContext& context, const Workbench& workbench) {
  const Tour* tour = workbench.tours.tour();
  if (tour == nullptr) return std::nullopt;
  const Theme& theme = context.theme;
  const TourStep& step = tour->step();
  const bool shown = tour->trouble().empty();
  if (workbench.tours.to_pictures()) {
    return Banner{
        .id = "tour.caption", .color = theme.colors.accent, .text = step.caption, .caption = true};
  }
  const std::size_t count = tour->script().steps.size();
  controls::record(
      context, "tour.state", "tour", "text",
      fmt::format("step={};of={};playing={};shown={};trouble={}", tour->index() + 1, count,
                  tour->playing(), tour->phase() == Tour::Phase::Show, tour->trouble()),
      ImGui::GetWindowPos(), ImGui::GetWindowPos());
  // A caption that describes something else than what is on screen would mislead.
  std::string text = shown ? step.caption : "Stopped: " + tour->trouble();
  if (!step.title.empty()) text = step.title + ". " + text;
  if (tour->phase() == Tour::Phase::Wait) text += " Working on it ...";
  const float width = theme.px(62);
  return Banner{
      .id = "tour.caption",
      .color = shown ? theme.colors.accent : theme.colors.warn,
      .text = std::move(text),
      .caption = true,
      .heading = fmt::format("{}  ·  {} of {}", tour->script().title, tour->index() + 1, count),
      .width = 4 * width + 3 * theme.px(kGapSmall),
      .actions = [&context, &workbench, tour, shown, width](float) {
        const auto button = [&](Action action, const char* id, const char* label,
                                const char* tooltip) {
          const std::string why = workbench.refusal(action);
          if (controls::button(
                  context, id, label,
                  {.enabled = why.empty(), .reason = why, .tooltip = tooltip, .width = width})) {
            context.commands.push_back(action);
          }
          ImGui::SameLine(0, context.theme.px(kGapSmall));
        };
        button(Action::TourBack, "tour.back", "Back", "The previous step (left arrow)");
        button(Action::TourPause, "tour.pause",
               !shown            ? "Retry"
               : tour->playing() ? "Pause"
                                 : "Play",
               shown ? "Continue by itself, or stay here (Space)" : "This step again (Space)");
        if (tour->at_last() && shown) {
          button(Action::TourStop, "tour.done", "Done", "To what was here before the tour (Esc)");
          return;
        }
        button(Action::TourNext, "tour.next", "Next", "The next step (right arrow)");
        button(Action::TourStop, "tour.stop", "Stop",
               "Back to what was here before the tour (Esc)");
      }};
}

std::optional<Banner> draft_banner(const PanelContext& context, TourController& tours, float room) {
  TourController::Draft& draft = tours.draft;
  if (!draft.open) return std::nullopt;
  const Theme& theme = context.theme;
  const float width = theme.px(74);
  const float buttons = 3 * width + 3 * theme.px(kGapSmall);
  const float left = room - buttons - theme.px(4 + 4 * kGap);
  // Where there is no room for a sentence, the field's tooltip says what the strip is for.
  const bool narrow = left < theme.px(560);
  const float words = narrow ? std::max(left, theme.px(40)) : 0.5F * left;
  const std::size_t steps = draft.steps.size();
  const std::string text =
      narrow ? std::string()
      : steps == 0
          ? std::string("A tour: show what the step is about, select in it, write its caption")
          : fmt::format("A tour of {} step{}: the next, or Save", steps, steps == 1 ? "" : "s");
  return Banner{
      .id = "tour_keeper",
      .color = theme.colors.accent,
      .text = text,
      .width = words + buttons,
      .actions = [&context, &tours, &draft, width, buttons, steps](float given) {
        const float field = std::max(given - buttons, context.theme.px(40));
        controls::input_text(context, "tour_keeper.words", "##tour_keeper.words", draft.words,
                             {.tooltip = "Caption of the tour's next step",
                              .hint = "caption of the next step",
                              .width = field});
        const auto button = [&](const char* id, const char* label, const char* why,
                                const char* tooltip) {
          ImGui::SameLine(0, context.theme.px(kGapSmall));
          return controls::button(
              context, id, label,
              {.enabled = why[0] == '\0', .reason = why, .tooltip = tooltip, .width = width});
        };
        if (button("tour_keeper.add", "Add step",
                   draft.words.empty() ? "Write its caption first" : "",
                   "Page, run and selections as they are on screen now")) {
          tours.add_step();
        }
        if (button("tour_keeper.save", "Save", steps == 0 ? "There is no step yet" : "",
                   "Writes the tour beside the last file; open it like a recording to play it")) {
          tours.save_draft();
        }
        if (button("tour_keeper.drop", "Drop", "", "Forget these steps")) tours.drop_draft();
      }};
}

}  // namespace app
