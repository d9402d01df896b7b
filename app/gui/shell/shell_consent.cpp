// The shell's part of the question whether a library may be loaded: who has to ask it, how it
// looks, what its answer does.
#include <fmt/format.h>

#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/shell.h"

namespace app {

bool Shell::may_load(const std::string& library, const char* order, std::function<void()> then) {
  if (library.empty() || consent_.allows(library) || library == link_.cublaslt()) return true;
  if (link_.hello() && has_library(*link_.hello(), library)) return true;
  if (tour_) {
    fail_tour(fmt::format(
        "{} names the cuBLASLt library {}; loading it would run its code, so it is refused. If "
        "you know this library: --allow-library {}",
        options_.open_file.empty() ? "a step" : options_.open_file, library, library));
    return false;
  }
  consent_.ask(library, order, std::move(then));
  redraw_ = true;
  return false;
}

const LibraryConsent::Question* Shell::library_question() const {
  // Until a worker has told what it has, nobody knows whether there is anything to ask.
  const bool known = link_.hello() || !link_.started() || link_.status().state == LinkState::Lost;
  return known ? consent_.question() : nullptr;
}

void Shell::answer_library(bool yes) {
  const LibraryConsent::Question* question = library_question();
  if (question == nullptr) return;
  const std::string library = question->library;
  const std::vector<std::function<void()>> waited = consent_.answer(yes);
  redraw_ = true;
  if (yes) {
    link_.allow_libraries(consent_.allowed());
    for (const std::function<void()>& then : waited) then();
    return;
  }
  if (state_.requested.cublaslt_library == library) state_.requested.cublaslt_library.clear();
  if (player_ && player_->phase() == TourPlayer::Phase::Show && !player_->trouble().empty()) {
    player_->shown(0, "the library that it names was refused");
  }
  says_ = "Refused: " + library + " is not loaded; the rail asks for the worker's own";
}

void Shell::note_libraries(const profiling::Session& session) {
  for (const auto& run : session.runs) consent_.named(run.request.cublaslt_library, session.path);
  for (const auto& one : session.comparisons) {
    consent_.named(one.comparison.request.request.cublaslt_library, session.path);
  }
  for (const auto& one : session.histories) {
    consent_.named(one.history.request.request.cublaslt_library, session.path);
  }
  for (const auto& one : session.visits) {
    consent_.named(one.request.cublaslt_library, session.path);
  }
}

void Shell::draw_library_question(const PanelContext& context) {
  const LibraryConsent::Question* question = library_question();
  if (question == nullptr) return;
  const Theme& theme = context.theme;
  const float width = theme.px(96);
  const Banner banner(
      context, "library.question", theme.colors.warn,
      fmt::format("{} names the cuBLASLt library {}. Loading a library runs its code on the "
                  "worker's machine, as you. Allow it only if you know it.",
                  question->file.empty() ? "A request" : question->file, question->library),
      2 * width + theme.px(kGapSmall));
  const bool yes =
      controls::button(context, "library.allow", "Allow once",
                       {.tooltip = "Ctrl+Shift+L; until this window is closed", .width = width});
  ImGui::SameLine(0, theme.px(kGapSmall));
  const bool no = controls::button(
      context, "library.refuse", "Refuse",
      {.tooltip = "Esc; the rail asks for the worker's own library instead", .width = width});
  if (yes || no) library_answer_ = yes;
}

}  // namespace app
