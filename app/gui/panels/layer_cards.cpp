// Where the error of Y comes from, and what every recipe keeps for backward.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/top_sentence.h"
#include "app/gui/panels/layer_view.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/snr_words.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

/// "+3.4" or "-0.1"; a gain that rounds to 0 has no sign.
std::string gain_text(double gain) {
  if (std::isnan(gain)) return "n/a";
  if (std::isinf(gain)) return "exact";
  const std::string text = fmt::format("{:+.1f}", gain);
  return text == "+0.0" || text == "-0.0" ? "0.0" : text;
}

}  // namespace

CardSpec LayerView::errors_card(const PanelContext& context) {
  return {.id = "layer.errors_card",
          .title = "Where the error of Y comes from",
          .question = "Which operand's quantization costs the output most?",
          .note = "SNR of Y, one operand unquantized",
          .measured =
              "The layer of the run is computed again with one operand of forward unquantized and "
              "all others quantized, and its Y compared with that of a layer that computes in FP32 "
              "from unquantized operands. The gain is over the run's own Y. Layer 0, all experts.",
          .list = layer_list(profiling::error_sources_table),
          .empty =
              [this] {
                if (!has_layer_) {
                  return EmptyState{"No expert layer has run yet",
                                    "A linear step has one product: its error is on This run."};
                }
                if (model_.errors().empty())
                  return EmptyState{"No error sources", model_.sentence()};
                return EmptyState{};
              },
          .draw = [this, &context](const Area& room) { draw_errors(context, room); },
          .needs =
              [this, &context] {
                const Theme& theme = context.theme;
                ImVec2 needed = plot::named_bars_need(theme, model_.errors().size());
                // In parts of lines, so that a larger text needs evenly more of them.
                const ImVec2 line = plot::text_size(theme.fonts.label, model_.sentence());
                const float width = std::max(context.presenting->size.x, 1.0F);
                needed.y += (1.0F + line.x / width) * line.y + theme.px(kGap);
                return needed;
              },
          .read_out = {"layer.errors", "error sources", [this] {
                         if (!has_layer_) return std::string("none");
                         std::string value = fmt::format("own={:.2f}", model_.own_snr_db());
                         for (const ErrorBar& bar : model_.errors()) {
                           value += fmt::format(";{}={:.2f}", engine::traits_of(bar.tensor).symbol,
                                                bar.gain_db);
                         }
                         return value;
                       }}};
}

void LayerView::draw_errors(const PanelContext& context, const Area& room) const {
  const Theme& theme = context.theme;
  const Area below = with_sentence(context, room, "layer.errors_sentence", model_.sentence());
  const double unquantized = model_.run().result.expert_layer->unquantized_snr_db;
  double end = 1.0;
  for (const double snr : {model_.own_snr_db(), unquantized}) {
    if (std::isfinite(snr)) end = std::max(end, snr);
  }
  std::vector<plot::NamedBar> bars;
  for (const ErrorBar& error : model_.errors()) {
    if (std::isfinite(error.snr_db)) end = std::max(end, error.snr_db);
    // What it has anyway, and what is gained on top.
    const double kept =
        std::isfinite(error.gain_db) ? std::min(error.snr_db, model_.own_snr_db()) : error.snr_db;
    bars.push_back({.name = std::string(engine::traits_of(error.tensor).symbol),
                    .segments = {{kept, plot::faded(theme.colors.accent, 0.45F)},
                                 {std::max(error.gain_db, 0.0), theme.colors.accent}},
                    .text = fmt::format("{} dB ({} dB)", gain_text(error.gain_db),
                                        plot::decibel_text(error.snr_db))});
  }
  ImGui::SetCursorScreenPos(below.at);
  const int hovered = plot::draw_named_bars(
      context,
      {.id = "##layer.errors",
       .size = below.size,
       .end = end,
       .references = {{model_.own_snr_db(), "run " + plot::decibels(model_.own_snr_db()).text(),
                       theme.colors.text},
                      {unquantized, "unquantized " + plot::decibels(unquantized).text(),
                       theme.colors.good}}},
      bars);
  if (hovered < 0) return;
  const ErrorBar& error = model_.errors()[static_cast<std::size_t>(hovered)];
  const engine::StepTensorTraits& traits = engine::traits_of(error.tensor);
  const engine::TensorResult* const y =
      engine::find_tensor(model_.run().result, engine::StepTensor::Y);
  plot::read_out(context, fmt::format("{}: {}", traits.symbol, traits.meaning),
                 {{"SNR of Y with it unquantized",
                   engine::snr_text(error.snr_db, error.left_out, plot::kSnrDecimals)},
                  {"SNR of Y in the run",
                   y == nullptr ? "n/a" : engine::snr_text(y->error, plot::kSnrDecimals)},
                  {"gain", gain_text(error.gain_db) + " dB", theme.colors.accent}});
}

CardSpec LayerView::memory_card(const PanelContext& context) {
  return {
      .id = "layer.memory_card",
      .title = has_backward() ? "Memory kept for backward, per recipe"
                              : "Memory a backward pass needs, per recipe",
      .question = "How much must forward keep, and how much does each recipe save?",
      .note = "one layer",
      .measured =
          "Computed from the sizes alone, nothing is run: the columnwise copies of X and A that "
          "dW reads (codes and scales, or elements where nothing is quantized), H in high "
          "precision for the activation's gradient, and the second, columnwise copies of "
          "quantized weights. A counts as 0 where backward computes it again. A step that begins "
          "at tokens also keeps the rows of Y, for the gradient of the probabilities. Without the "
          "padding that a device's products want between experts.",
      .list = [this] { return recipe_memories_table(memories_); },
      .empty =
          [this] {
            if (!memories_.empty()) return EmptyState{};
            return EmptyState{"The request is not valid", "The rail says what to change."};
          },
      .draw = [this, &context](const Area& room) { draw_memory(context, room); },
      .read_out = {"layer.memory", "memory kept for backward", [this] {
                     std::string value;
                     for (const RecipeMemory& one : memories_) {
                       value += fmt::format("{}{}={}+{}", value.empty() ? "" : ";", one.name,
                                            one.activations(), one.weights);
                     }
                     return value;
                   }}};
}

void LayerView::draw_memory(const PanelContext& context, const Area& room) const {
  const Theme& theme = context.theme;
  const Area below = with_sentence(context, room, "layer.memory_sentence",
                                   memory_sentence(memories_, has_backward()));
  const ImU32 weights = plot::faded(theme.colors.dim_text, 0.5F);
  float legend = theme.fonts.label->FontSize + theme.px(kGapSmall);
  const bool layer = memories_.front().h > 0 || memories_.front().a > 0;
  std::vector<plot::LegendEntry> entries = {{"X", theme.series(0)}};
  if (layer) {
    entries.push_back({"H", theme.series(1)});
    entries.push_back({"A", theme.series(2)});
  }
  if (memories_.front().y > 0) entries.push_back({"Y", theme.colors.good});
  entries.push_back({"second copies of weights", weights});
  legend += plot::draw_legend(context,
                              {.id = "layer.memory_legend",
                               .right = ImVec2(below.end().x, below.at.y),
                               .left = below.at.x,
                               .gap = theme.px(kGapLarge)},
                              entries);
  double end = 0.0;
  std::vector<plot::NamedBar> bars;
  for (const RecipeMemory& one : memories_) {
    const auto part = [](std::int64_t bytes) { return static_cast<double>(bytes); };
    end = std::max(end, part(one.activations() + one.weights));
    bars.push_back({.name = one.name,
                    .segments = {{part(one.x), theme.series(0)},
                                 {part(one.h), theme.series(1)},
                                 {part(one.a), theme.series(2)},
                                 {part(one.y), theme.colors.good},
                                 {part(one.weights), weights}},
                    .text = bytes_of(one.activations()) +
                            (one.weights > 0 ? " + " + bytes_of(one.weights) : ""),
                    .marked = one.chosen});
  }
  const Area rows = below.below(legend);
  ImGui::SetCursorScreenPos(rows.at);
  const int hovered =
      plot::draw_named_bars(context, {.id = "##layer.memory", .size = rows.size, .end = end}, bars);
  if (hovered < 0) return;
  const auto index = static_cast<std::size_t>(hovered);
  plot::read_out(context, memories_[index].name,
                 plot::row_lines(recipe_memories_table(memories_), index, theme.colors,
                                 {{"x_bytes", theme.series(0)},
                                  {"h_bytes", theme.series(1)},
                                  {"a_bytes", theme.series(2)},
                                  {"y_bytes", theme.colors.good},
                                  {"weights_bytes", weights}}));
}

}  // namespace app
