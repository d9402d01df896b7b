// The error of every expert, as bars and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"

namespace app {

std::string NumericsPanel::selected_note(int expert) const {
  const std::vector<engine::ExpertResult>& experts = model_.run().result.experts;
  if (expert < 0 || std::cmp_greater_equal(expert, experts.size())) return {};
  const engine::ExpertResult& one = experts[static_cast<std::size_t>(expert)];
  const double snr = accuracy_of(one, model_.product()).snr_db;
  return fmt::format("expert {}: {}{} \u00b7 ", expert,
                     one.rows == 0 ? "no rows" : plot::decibel_text(snr),
                     one.rows > 0 && std::isfinite(snr) ? " dB" : "");
}

void NumericsPanel::draw_snr(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const float widgets = model_.run().result.backward ? theme.px(120) : 0.0F;
  Card card(
      context,
      {.id = "numerics.snr_card",
       .title = "Error per expert",
       .question = "Which expert's product suffers most? A click selects an expert, here and in "
                   "Performance.",
       .note = selected_note(context.view.expert) +
               fmt::format("SNR of {} against the unquantized product",
                           engine::output_name(model_.product())),
       .measured = "10 log10 of the sum of squares of the unquantized product over the sum of "
                   "squared errors, all finite elements of layer 0. A fading bar is an exact "
                   "match, hatching an expert without rows.",
       .text =
           [this] {
             return plot::table_text(expert_error_columns(model_.product()), model_.expert_rows());
           },
       .csv =
           [this] {
             return plot::table_csv(expert_error_columns(model_.product()), model_.expert_rows());
           },
       .header_widgets = widgets},
      area.size);
  if (widgets > 0.0F) {
    card.begin_header_widgets();
    int product = static_cast<int>(model_.product());
    if (controls::segmented(
            context, "numerics.product", product, {"Y", "dX", "dW"},
            {.tooltip = "Product whose error is shown", .width = widgets - theme.px(kGap)})) {
      product_ = product;
    }
    card.end_header_widgets();
  }
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const plot::BarHit hit = plot::draw_bars(context,
                                           {.id = "##numerics.snr",
                                            .size = room,
                                            .y = {.kind = plot::AxisKind::Decibel, .label = "dB"},
                                            .x_label = "expert",
                                            .selected = context.view.expert},
                                           model_.snr_bars(), snr_view_);
  const int hovered = hit.index;
  if (hit.clicked) select_expert(context, hovered);
  if (hovered >= 0) {
    const engine::ExpertResult& expert =
        model_.run().result.experts[static_cast<std::size_t>(hovered)];
    const engine::ProductAccuracyRow error = accuracy_of(expert, model_.product());
    const auto with_unit = [](double decibel) {
      return plot::decibel_text(decibel) + (std::isfinite(decibel) ? " dB" : "");
    };
    plot::read_out(context, fmt::format("expert {}", hovered),
                   {{"rows", plot::count_text(static_cast<std::uint64_t>(expert.rows)), 0},
                    {std::string("SNR of ") + engine::output_name(model_.product()),
                     expert.rows == 0 ? "no rows" : with_unit(error.snr_db), theme.colors.accent},
                    {"SNR of X", expert.rows == 0 ? "no rows" : with_unit(expert.x_snr_db), 0},
                    {"max error", plot::number_text(error.max_abs_error), 0},
                    {"rms of reference", plot::number_text(error.reference_rms), 0},
                    {"scales in the selection", scales_in_selection(hovered), 0}});
  }
  double worst = INFINITY;
  for (const engine::ExpertResult& expert : model_.run().result.experts) {
    const double snr = accuracy_of(expert, model_.product()).snr_db;
    if (expert.rows > 0 && std::isfinite(snr)) worst = std::min(worst, snr);
  }
  controls::record(
      context, "numerics.snr_per_expert", "SNR per expert", "plot",
      fmt::format("experts={};worst_db={:.2f};product={};selected={}", model_.snr_bars().size(),
                  worst, engine::output_name(model_.product()), context.view.expert),
      at, ImVec2(at.x + room.x, at.y + room.y));
}

std::string NumericsPanel::scales_in_selection(int expert) const {
  if (!selection_) return "no selection";
  const auto index = static_cast<std::size_t>(expert);
  if (index >= selection_->scales_of_experts.size()) return "not known, folded";
  return plot::count_text(selection_->scales_of_experts[index]);
}

void NumericsPanel::draw_lower(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const bool elements = lower_ == 1;
  const auto columns = [this] { return expert_error_columns(model_.product()); };
  CardSpec spec{.id = "numerics.errors_card",
                .title = elements ? "Elements" : "Experts",
                .question = elements
                                ? "What happens to a single number under this run's recipe?"
                                : "Error, saturation and underflow of every expert; a click on a "
                                  "column sorts.",
                .note = "",
                .header_widgets = context.theme.px(150)};
  if (elements) {
    spec.measured =
        "The worker quantizes the same operand with the same recipe again and sends 32 x 32 "
        "elements "
        "around the clicked block: codes and scales as the kernels write them. An ulp is "
        "one step of the format's grid at the code.";
    spec.text = [this] { return inspector_.list('\t'); };
    spec.csv = [this] { return inspector_.list(','); };
  } else {
    spec.measured =
        "The chosen product of layer 0 against that of the unquantized operands; saturated and "
        "underflowed count elements of X.";
    spec.text = [this, columns] { return plot::table_text(columns(), model_.expert_rows()); };
    spec.csv = [this, columns] { return plot::table_csv(columns(), model_.expert_rows()); };
  }
  Card card(context, spec, area.size);
  card.begin_header_widgets();
  controls::segmented(context, "numerics.lower", lower_, {"Experts", "Elements"},
                      {.tooltip = "Errors of all experts, or single elements of the operand",
                       .width = context.theme.px(150 - kGap)});
  card.end_header_widgets();
  if (elements) {
    inspector_.draw(context, model_, {ImGui::GetCursorScreenPos(), card.room()});
    return;
  }
  // Rows are in the order of experts: a row and its bar share one selection.
  table_.selected = context.view.expert;
  if (plot::draw_table(context, "##numerics.errors", columns(), model_.expert_rows(),
                       model_.generation(), card.room(), table_)) {
    context.commands.push_back(SelectExpert{table_.selected});
  }
}

}  // namespace app
