#include "app/gui/shell/tour_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/notices.h"

namespace app {

void TourKeeper::close() {
  open_ = false;
  steps_.clear();
  words_.clear();
}

void TourKeeper::add(TourStep seen) {
  seen.name = fmt::format("{:02}-step", steps_.size() + 1);
  seen.caption = std::exchange(words_, {});
  steps_.push_back(std::move(seen));
}

std::string TourKeeper::text() const { return tour_text({.title = "Kept tour", .steps = steps_}); }

TourKeeper::Wish TourKeeper::draw(const PanelContext& context) {
  if (!open_) return Wish::None;
  const Theme& theme = context.theme;
  const float width = theme.px(74);
  const float buttons = 3 * width + 3 * theme.px(kGapSmall);
  const float room = ImGui::GetContentRegionAvail().x - buttons - theme.px(4 + 4 * kGap);
  // Where there is no room for a sentence, the field's tooltip says what the bar is for.
  const bool narrow = room < theme.px(360);
  const float words = narrow ? std::max(room, theme.px(40)) : theme.px(200);
  const std::string text =
      narrow           ? std::string()
      : steps_.empty() ? std::string("A tour: show what the step is about, select in it, say it")
                       : fmt::format("A tour of {} step{}: the next, or Save", steps_.size(),
                                     steps_.size() == 1 ? "" : "s");
  const Banner banner(context, "tour_keeper", theme.colors.accent, text, words + buttons);
  controls::input_text(context, "tour_keeper.words", "##tour_keeper.words", words_,
                       {.tooltip = "What the tour's next step says to whom it is shown",
                        .hint = "words of the next step",
                        .width = words});
  Wish wish = Wish::None;
  const auto button = [&](Wish meant, const char* id, const char* label, const char* why,
                          const char* tooltip) {
    ImGui::SameLine(0, theme.px(kGapSmall));
    const controls::Options options{
        .enabled = why[0] == '\0', .reason = why, .tooltip = tooltip, .width = width};
    if (controls::button(context, id, label, options)) wish = meant;
  };
  button(Wish::Add, "tour_keeper.add", "Add step", words_.empty() ? "Say what it is about" : "",
         "Workspace, run and selections as they are on screen now");
  button(Wish::Save, "tour_keeper.save", "Save", steps_.empty() ? "There is no step yet" : "",
         "Writes the tour beside the last file; open it like a recording to play it");
  button(Wish::Close, "tour_keeper.drop", "Drop", "", "Forget these steps");
  return wish;
}

}  // namespace app
