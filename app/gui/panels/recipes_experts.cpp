// What each overlaid recipe costs every expert: error, unused range, and all of it as a table.
#include <fmt/format.h>

#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/recipes_view.h"
#include "engine/model/recipe_words.h"
#include "engine/model/snr_words.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

const char* const kExpertMethod =
    "One comparison quantizes the same operand with every recipe. SNR counts the expert's own "
    "rows. "
    "Wasted is log2 of the scale that a block's amax asks for over the scale that was used; scales "
    "that are not powers of two waste nothing, and NVFP4 has none to count.";

plot::ReadOutLine snr_line(const RecipeOverlay& overlay, double lost_db,
                           const engine::ExpertQuantization& expert) {
  const std::string snr =
      expert.rows == 0 ? "no rows"
                       : engine::snr_text(expert.snr_db, expert.left_out(), plot::kSnrDecimals);
  return {overlay.name, fmt::format("{}, lost {}", snr, profiling::lost_snr_text(lost_db)),
          overlay.color};
}

plot::ReadOutLine waste_line(const RecipeOverlay& overlay,
                             const engine::ExpertQuantization& expert) {
  const engine::RangeWaste& waste = expert.waste;
  if (waste.scales == 0) return {overlay.name, "no scale that counts", overlay.color};
  return {
      overlay.name,
      fmt::format("mean {}, worst {} binades of {} scales; largest code at {:.1f} % of the "
                  "range's top, on average",
                  engine::binades_text(waste, waste.mean), engine::binades_text(waste, waste.max),
                  plot::count_text(waste.scales), 100.0 * std::exp2(-waste.mean)),
      overlay.color};
}

}  // namespace

EmptyState RecipesView::no_experts() const {
  EmptyState empty = none_chosen();
  if (empty.title.empty() && model_.experts().table.rows.empty()) {
    empty = {"No experts", "This comparison has no numbers per expert: quantize again."};
  }
  return empty;
}

CardSpec RecipesView::snr_card(const PanelContext& context) {
  const float widgets = context.theme.px(110);
  const auto choose = [this, &context, widgets] {
    if (controls::either(context, "recipes.measure", lost_, "SNR", "lost",
                         {.tooltip = "SNR, or what a recipe loses of it against the one chosen "
                                     "first: below 0 it is better",
                          .width = widgets})) {
      snr_view_ = {};
    }
  };
  return {.id = "recipes.snr_card",
          .title = "SNR of the operand",
          .question = "What does another recipe cost each expert?",
          .note = "dB per expert",
          .measured = kExpertMethod,
          .table = experts_table(),
          .header_widgets = widgets,
          .header = choose,
          .empty = [this] { return no_experts(); },
          .draw = [this, &context](const Area& room) { draw_experts(context, room.size, true); },
          .read_out = {"recipes.snr", "SNR per expert", [this] {
                         return fmt::format("bars={};shown={}", model_.experts().snr.size(),
                                            lost_ ? "lost" : "snr");
                       }}};
}

CardSpec RecipesView::waste_card(const PanelContext& context) {
  return {.id = "recipes.waste_card",
          .title = "Range wasted",
          .question = "How much of the code's range do rounded scales leave unused?",
          .note = "binades per expert: mean, line to the worst scale",
          .measured = kExpertMethod,
          .table = experts_table(),
          .empty = [this] { return no_experts(); },
          .draw = [this, &context](const Area& room) { draw_experts(context, room.size, false); },
          .read_out = {"recipes.waste", "wasted range per expert",
                       [this] { return fmt::format("bars={}", model_.experts().waste.size()); }}};
}

void RecipesView::draw_experts(const PanelContext& context, ImVec2 size, bool snr) {
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  const RecipeExperts& experts = model_.experts();
  const std::vector<plot::Bar>& bars = snr ? (lost_ ? experts.lost : experts.snr) : experts.waste;
  const plot::BarSpec spec{.id = snr ? "##recipes.snr" : "##recipes.waste",
                           .size = size,
                           .y = snr ? plot::Axis{.kind = plot::AxisKind::Decibel, .label = "dB"}
                                    : plot::Axis{.label = "binades", .limits = {0.0, 1.0}},
                           .x_label = "expert",
                           .per_item = overlays.size()};
  const int expert = plot::draw_bars(context, spec, bars, snr ? snr_view_ : waste_view_).index;
  if (expert < 0) return;
  const auto index = static_cast<std::size_t>(expert);
  std::vector<plot::ReadOutLine> lines;
  for (std::size_t i = 0; i < overlays.size(); ++i) {
    if (index >= overlays[i].report->experts.size()) continue;
    const engine::ExpertQuantization& one = overlays[i].report->experts[index];
    lines.push_back(
        snr ? snr_line(overlays[i], experts.lost[index * overlays.size() + i].value, one)
            : waste_line(overlays[i], one));
  }
  plot::read_out(context, fmt::format("expert {}", expert), lines);
}

CardTable RecipesView::experts_table() {
  return {.id = "##recipes.experts",
          .drawn = &model_.experts().table,
          .generation = model_.generation(),
          .state = &experts_table_};
}

CardSpec RecipesView::experts_card(const PanelContext& /*context*/) {
  return {.id = "recipes.experts_card",
          .title = "Experts",
          .question = "Which expert loses most under which recipe? A click on a column sorts.",
          .note = model_.overlays().empty() ? std::string()
                                            : "SNR lost against " + model_.overlays().front().name,
          .measured = kExpertMethod,
          .table = experts_table(),
          .empty = [this] { return no_experts(); }};
}

}  // namespace app
