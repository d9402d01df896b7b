#include "app/gui/cards/top_sentence.h"

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"

namespace app {
namespace {

/// A sentence of a card gets no more lines than this, so that its bars keep their room.
constexpr std::size_t kSentenceLines = 5;

}  // namespace

Area with_sentence(const PanelContext& context, const Area& room, const char* id,
                   const std::string& sentence) {
  if (sentence.empty()) return room;
  const ImFont* font = context.theme.fonts.label;
  const float gap = context.theme.px(kGapSmall);
  const FittedLines fit = fitted_lines(font, sentence, room.size.x, kSentenceLines);
  ImVec2 at = room.at;
  for (const std::string& line : fit.lines) {
    plot::draw_text(ImGui::GetWindowDrawList(), font, at, context.theme.colors.text, line);
    at.y += font->FontSize + 0.5F * gap;
  }
  const ImVec2 end(room.end().x, at.y);
  const std::string shown = fit.text();
  controls::record(context, id, shown.c_str(), "text", sentence, room.at, end);
  if (!fit.whole && ImGui::IsMouseHoveringRect(room.at, end) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, sentence);
  }
  return room.below(at.y - room.at.y + gap);
}

}  // namespace app
