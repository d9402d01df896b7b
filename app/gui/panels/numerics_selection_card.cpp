// The range selected on the histograms: its contents, in numbers.
#include <fmt/format.h>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"
#include "app/gui/plot/plot_text.h"

namespace app {

void NumericsPanel::follow_selection() {
  const std::optional<plot::Range>& range = value_view_.selection;
  if (!range) {
    selection_.reset();
    return;
  }
  const bool same = selection_ && selection_->asked.min == range->min &&
                    selection_->asked.max == range->max &&
                    selection_generation_ == model_.generation();
  if (same) return;
  selection_ = select_values(model_, *range);
  selection_generation_ = model_.generation();
}

void NumericsPanel::draw_selection(const PanelContext& context, const Area& area) {
  follow_selection();
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  CardSpec spec{.id = "numerics.selection_card",
                .title = "Selected range",
                .question = "How much of the operand lies in the range dragged over a histogram?",
                .note = "",
                .measured =
                    "Sums of the bins whose centres lie in the range; shares are of all "
                    "elements or scales, zeros and non-finite ones included."};
  if (selection_) {
    spec.note =
        fmt::format("2^{:.2f} .. 2^{:.2f}", selection_->snapped.min, selection_->snapped.max);
    spec.text = [this] { return selection_list(*selection_, '\t'); };
    spec.csv = [this] { return selection_list(*selection_, ','); };
  }
  Card card(context, spec, area.size);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = card.room();
  const ImFont* font = theme.fonts.label;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  std::string value = "none";
  if (!selection_) {
    plot::draw_text(draw, font, at, theme.colors.dim_text,
                    plot::fitted(font, "Drag over a histogram to select; a click clears.", room.x));
  } else {
    value = fmt::format("from={:.4f};to={:.4f}", selection_->snapped.min, selection_->snapped.max);
    const float column = room.x / static_cast<float>(selection_->series.size());
    for (std::size_t i = 0; i < selection_->series.size(); ++i) {
      const SelectedSeries& series = selection_->series[i];
      const float x = at.x + column * static_cast<float>(i);
      const float width = column - theme.px(kGapSmall);
      plot::draw_text(draw, font, ImVec2(x, at.y), theme.colors.dim_text,
                      plot::fitted(font, series.name, width));
      const float line = font->FontSize + theme.px(2);
      plot::draw_text(
          draw, theme.fonts.mono, ImVec2(x, at.y + line), theme.colors.text,
          plot::fitted(theme.fonts.mono, plot::share_text(series.count, series.total), width));
      plot::draw_text(draw, font, ImVec2(x, at.y + 2.0F * line + theme.px(2)),
                      theme.colors.dim_text,
                      plot::fitted(font, plot::si_text(series.count), width));
      value += fmt::format(";{}={:.0f}", series.name, series.count);
    }
  }
  controls::record(context, "numerics.selection", "selected range", "text", value, at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

}  // namespace app
