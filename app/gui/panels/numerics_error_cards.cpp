// The error of every expert, as bars and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"
#include "engine/model/snr_words.h"
#include "profiling/document/run_tables.h"

namespace app {

std::string NumericsPanel::selected_note(int expert) const {
  const std::vector<engine::ExpertResult>& experts = model_.run().result.experts;
  if (expert < 0 || std::cmp_greater_equal(expert, experts.size())) return {};
  const engine::ExpertResult& one = experts[static_cast<std::size_t>(expert)];
  return fmt::format(
      "expert {}: {} \u00b7 ", expert,
      one.rows == 0 ? "no rows" : engine::snr_text(one.of(model_.product()), plot::kSnrDecimals));
}

CardSpec NumericsPanel::snr_card(const PanelContext& context) {
  const float widgets = model_.run().result.backward ? context.theme.px(120) : 0.0F;
  const auto choose_product = [this, &context, widgets] {
    int product = static_cast<int>(model_.product());
    if (controls::segmented(context, "numerics.product", product, {"Y", "dX", "dW"},
                            {.tooltip = "Product whose error is shown",
                             .width = widgets - context.theme.px(kGap)})) {
      product_ = product;
    }
  };
  return {.id = "numerics.snr_card",
          .title = "Error per expert",
          .question =
              "Which expert's product suffers most? A click selects an expert, here and in "
              "Performance.",
          .note = context.view.absent_note() + selected_note(context.view.expert) +
                  fmt::format("SNR of {} against the unquantized product",
                              engine::output_name(model_.product())),
          .measured =
              "10 log10 of the sum of squares of the unquantized product over the sum of "
              "squared errors, over the elements of layer 0 that are finite in both. Elements "
              "that overflowed are left out and counted as lost. A fading bar is an exact "
              "match, hatching an expert without rows.",
          .table = {.id = "##numerics.errors", .drawn = &model_.experts_table()},
          .header_widgets = widgets,
          .header = widgets > 0.0F ? std::function<void()>(choose_product) : nullptr,
          .draw = [this, &context](const Area& room) { draw_snr(context, room.size); },
          .read_out = {"numerics.snr_per_expert", "SNR per expert",
                       [this, &context] { return snr_value(context.view.expert); }}};
}

std::string NumericsPanel::snr_value(int selected) const {
  double worst = INFINITY;
  for (const engine::ExpertResult& expert : model_.run().result.experts) {
    const double snr = expert.of(model_.product()).snr_db;
    if (expert.rows > 0 && std::isfinite(snr)) worst = std::min(worst, snr);
  }
  return fmt::format("experts={};worst_db={:.2f};product={};selected={}", model_.snr_bars().size(),
                     worst, engine::output_name(model_.product()), selected);
}

void NumericsPanel::draw_snr(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const plot::MarkHit hit = plot::draw_bars(context,
                                            {.id = "##numerics.snr",
                                             .size = size,
                                             .y = {.kind = plot::AxisKind::Decibel, .label = "dB"},
                                             .x_label = "expert",
                                             .selected = context.view.expert},
                                            model_.snr_bars(), snr_view_);
  const int hovered = hit.index;
  if (hit.clicked) select_expert(context, hovered);
  if (hovered >= 0) {
    const engine::ExpertResult& expert =
        model_.run().result.experts[static_cast<std::size_t>(hovered)];
    const engine::ProductAccuracy& error = expert.of(model_.product());
    const auto snr_text = [&expert](const auto& measured) {
      return expert.rows == 0 ? "no rows" : engine::snr_text(measured, plot::kSnrDecimals);
    };
    const engine::OperandExpert operand = profiling::operand_expert(
        model_.run().result, model_.operand(), static_cast<std::size_t>(hovered));
    plot::read_out(
        context, fmt::format("expert {}", hovered),
        {{"rows", plot::count_text(static_cast<std::uint64_t>(expert.rows))},
         {std::string("SNR of ") + engine::output_name(model_.product()), snr_text(error),
          theme.colors.accent},
         {"SNR of quantizing " + model_.operand_name(), snr_text(operand)},
         {"lost in quantizing it", plot::count_text(operand.lost),
          operand.lost > 0 ? theme.colors.bad : 0},
         {"max error", plot::number_text(error.max_abs_error)},
         {"lost to overflow", plot::count_text(error.lost), error.lost > 0 ? theme.colors.bad : 0},
         {"rms of reference", plot::number_text(error.reference_rms)},
         {"scales in the selection", scales_in_selection(hovered)}});
  }
}

std::string NumericsPanel::scales_in_selection(int expert) const {
  if (!selection_ || !selection_->scales) return "no range of scales";
  const auto index = static_cast<std::size_t>(expert);
  if (index >= selection_->scales_of_experts.size()) return "not known, folded";
  return plot::count_text(selection_->scales_of_experts[index]);
}

CardSpec NumericsPanel::errors_card(const PanelContext& context) {
  const bool elements = lower_ == 1;
  CardSpec spec{
      .id = "numerics.errors_card",
      .title = elements ? std::string("Elements")
                        : fmt::format("Experts: {} and operand {}",
                                      engine::output_name(model_.product()), model_.operand_name()),
      .question = elements ? "What happens to a single number under this run's recipe?"
                           : "Error, saturation and underflow of every expert; a click on a "
                             "column sorts.",
      .header_widgets = context.theme.px(150)};
  spec.header = [this, &context] {
    controls::segmented(context, "numerics.lower", lower_, {"Experts", "Elements"},
                        {.tooltip = "Errors of all experts, or single elements of the operand",
                         .width = context.theme.px(150 - kGap)});
  };
  if (elements) {
    spec.measured =
        "The worker quantizes the same operand with the same recipe again and sends 32 x 32 "
        "elements around the clicked block: codes and scales as the kernels write them. An ulp is "
        "one step of the format's grid at the code.";
    spec.list = [this] { return inspector_.list(); };
    spec.draw = [this, &context](const Area& room) { inspector_.draw(context, model_, room); };
    return spec;
  }
  spec.measured =
      "The chosen product of layer 0 against that of the unquantized operands; the SNR and the "
      "counts of the chosen operand are of its quantization alone.";
  // Rows are in the order of experts: a row and its bar share one selection.
  table_.selected = context.view.expert;
  spec.table = {.id = "##numerics.errors",
                .drawn = &model_.experts_table(),
                .generation = model_.generation(),
                .state = &table_,
                .chosen = [&context](std::optional<std::size_t> row) {
                  context.commands.push_back(SelectExpert{row ? static_cast<int>(*row) : -1});
                }};
  return spec;
}

}  // namespace app
