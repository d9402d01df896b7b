// The presenter's view: one card of a page at a time, and a line above it that says which.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/shell.h"
#include "app/gui/theme/text.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

/// The recording on screen, or the device of the run; empty = there is no run.
std::string source_of(const SessionView& view) {
  if (view.from_file) return std::filesystem::path(view.session_path).filename().string();
  return view.run == nullptr ? std::string() : view.run->result.device.name;
}

}  // namespace

Presentation::Before Shell::pages_of_user() const {
  if (const Presentation::Before* before = workbench_.presentation.before()) return *before;
  Presentation::Before now{.page = page_};
  for (const Page one : kPages) {
    now.views[static_cast<std::size_t>(one)] = std::string(page_of(one).view());
  }
  if (const TourController::Before* before = workbench_.tours.before()) {
    now.page = before->page.page;
    now.views[static_cast<std::size_t>(now.page)] = before->page.view;
  }
  return now;
}

void Shell::present(Action action) {
  Presentation& presentation = workbench_.presentation;
  workbench_.notices.set_status("");
  std::optional<Presentation::Place> place;
  switch (action) {
    case Action::PresentNext:
      place = presentation.next();
      break;
    case Action::PresentPrevious:
      place = presentation.previous();
      break;
    case Action::PresentFirst:
      place = presentation.first();
      break;
    case Action::PresentLast:
      place = presentation.last();
      break;
    default:
      if (presentation.on()) return end_presenting();
      place = presentation.begin(pages_of_user(), settings_.presented);
  }
  if (place) show({place->page, place->view});
}

void Shell::present_card(const std::string& card) {
  std::vector<PresentedCard>& chosen = settings_.presented;
  const auto at = std::ranges::find(chosen, card, &PresentedCard::card);
  if (at != chosen.end()) {
    chosen.erase(at);
  } else if (chosen.size() < Settings::kMostPresented) {
    chosen.push_back({.page = page_, .view = std::string(page().view()), .card = card});
  }
  workbench_.notices.set_status(
      chosen.empty()
          ? "F11 presents all cards that have content"
          : fmt::format("F11 presents {}, in the order in which they were chosen",
                        chosen.size() == 1 ? std::string("the chosen card")
                                           : fmt::format("the {} chosen cards", chosen.size())));
}

PresentingPass Shell::presenting_pass() {
  Presentation& presentation = workbench_.presentation;
  PresentingPass pass;
  if (!presentation.on()) return pass;
  pass.wanted = presentation.follow(page_, page().view());
  if (!presentation.chosen().empty()) {
    pass.chosen = presentation.chosen()[presentation.chosen_index()].card;
  }
  return pass;
}

void Shell::follow_presented(const PresentingPass& pass) {
  Presentation& presentation = workbench_.presentation;
  const float scale = presentation.scale();
  if (pass.cards == 0 && !pass.chosen.empty()) {
    if (const auto place = presentation.missed()) show({place->page, place->view});
    draw_again_ = true;
    return;
  }
  presentation.drawn(pass.card, pass.cards);
  constexpr float kLeastWidth = 560.0F;  // of the card, in grid pixels: for rows of buttons
  presentation.fit({.part = pass.fits,
                    .scrolls = pass.scrolls,
                    .most = pass.size.x / (kLeastWidth * settings_.text_scale)});
  draw_again_ = draw_again_ || presentation.scale() != scale;
}

void Shell::end_presenting() {
  const Presentation::Before before = workbench_.presentation.end();
  // A tour goes on with the page of its step, and restores the user's when it ends.
  if (touring()) return;
  for (const Page one : kPages) {
    const auto index = static_cast<std::size_t>(one);
    pages_[index]->show_view(before.views[index]);
  }
  page_ = before.page;
}

float Shell::presented_height(const Theme& theme) {
  return theme.px(kRowHeight) + theme.fonts.label->FontSize + theme.px(kGapSmall);
}

void Shell::draw_presented_line(const PanelContext& context) {
  const Theme& theme = context.theme;
  const PresentingPass& pass = *context.presenting;
  std::string text = page_title(page_);
  if (!pass.title.empty()) text += " · " + pass.title;
  const Presentation& presentation = workbench_.presentation;
  const std::size_t chosen = presentation.chosen().size();
  text += chosen > 0
              ? fmt::format(" · {} of {}", presentation.chosen_index() + 1, chosen)
              : fmt::format(" · {} of {}", pass.card + 1, std::max<std::size_t>(pass.cards, 1));
  if (const std::string source = source_of(context.view); !source.empty()) text += " · " + source;
  // There is no status bar that could show it.
  const std::string& status = workbench_.notices.status_message();
  if (!status.empty()) text += " · " + status;
  const float room = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 end(at.x + room, at.y + theme.px(kRowHeight));
  const ImFont* font = theme.fonts.label;
  const float top = at.y + 0.5F * (theme.px(kRowHeight) - font->FontSize);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  constexpr std::string_view kHint = "← → cards · Esc ends";
  const float hint = shown_size(font, kHint).x;
  const float left = room - hint - theme.px(kGapSection);
  plot::draw_fitted(context, font, {at.x, top}, theme.colors.text, text, left);
  draw_shown(draw, font, {end.x - hint, top}, theme.colors.dim_text, kHint);
  controls::record(context, "present.keys", "Keys", "text", std::string(kHint),
                   {end.x - hint, at.y}, end);
  controls::record(context, "present.line", "What is presented", "text", text, at, end);
  // A picture of the card alone must say what it was measured on.
  const std::string run = headline_line(context.view, step_ns_, step_precision_);
  if (run.empty()) return;
  plot::draw_fitted(context, font, {at.x, end.y}, theme.colors.dim_text, run, room);
  controls::record(context, "present.run", "The run that is presented", "text", run, {at.x, end.y},
                   {end.x, end.y + font->FontSize});
}

}  // namespace app
