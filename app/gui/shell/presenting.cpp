// The presenter's view: one card of a page at a time, and a line above it that says which.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
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
  std::optional<Page> page;
  switch (action) {
    case Action::PresentNext:
      page = presentation.next();
      break;
    case Action::PresentPrevious:
      page = presentation.previous();
      break;
    case Action::PresentFirst:
      return presentation.first();
    case Action::PresentLast:
      return presentation.last();
    default:
      if (presentation.on()) return end_presenting();
      return presentation.begin(pages_of_user());
  }
  if (page) show({*page, ""});
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

void Shell::draw_presented_line(const PanelContext& context) {
  const Theme& theme = context.theme;
  const PresentingPass& pass = *context.presenting;
  std::string text = page_title(page_);
  if (!pass.title.empty()) text += " · " + pass.title;
  text += fmt::format(" · {} of {}", pass.card + 1, std::max<std::size_t>(pass.cards, 1));
  if (const std::string source = source_of(context.view); !source.empty()) text += " · " + source;
  const float room = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 end(at.x + room, at.y + theme.px(kRowHeight));
  const ImFont* font = theme.fonts.label;
  const float top = at.y + 0.5F * (theme.px(kRowHeight) - font->FontSize);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw_shown(draw, font, {at.x, top}, theme.colors.text, fitted(font, text, room));
  constexpr std::string_view kHint = "Esc ends";
  const float hint = shown_size(font, kHint).x;
  if (shown_size(font, text).x + hint + theme.px(kGapSection) < room) {
    draw_shown(draw, font, {end.x - hint, top}, theme.colors.dim_text, kHint);
  }
  controls::record(context, "present.line", "What is presented", "text", text, at, end);
}

}  // namespace app
