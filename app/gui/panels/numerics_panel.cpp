// Layout, figures and state of the Numerics page; its cards are in separate files.
#include "app/gui/panels/numerics_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include "app/controllers/background.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/recipes_model.h"
#include "app/plot/scale_maps.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

constexpr float kPartWidth = 300;
constexpr float kOverWidth = 140;
// Names of its views, by View; the run itself needs none.
constexpr std::array<std::string_view, 5> kNumericsViews = {"", "recipes", "steps", "layer",
                                                            "channels"};

}  // namespace

NumericsPanel::NumericsPanel() : PagePanel(kNumericsViews) {}

Selection NumericsPanel::selected() const {
  Selection selection;
  if (const auto& range = value_view_.selection) selection.values_log2 = {range->min, range->max};
  return selection;
}

void NumericsPanel::follow_run(const PanelContext& context) {
  const SessionView& view = context.view;
  has_run_ = view.run != nullptr;
  if (!has_run_) return;
  // What a linear step or one without a backward pass lacks is hidden, and the choice is kept for
  // the next run that has it.
  const bool backward = view.run->result.backward;
  const std::vector<engine::StepTensor> operands = engine::operands_of(view.run->result);
  const bool has = std::ranges::find(operands, operand_) != operands.end();
  const engine::StepTensor operand = has ? operand_ : engine::StepTensor::X;
  const auto product = backward ? static_cast<engine::Product>(product_) : engine::Product::Fprop;
  const Followed wanted{view.run_generation, operand, product, context.theme.kind};
  if (followed_ == wanted) {
    has_run_ = model_.generation() != 0;
    return;
  }
  // Another operand has another range; a newer run of the same one keeps the zoom.
  if (model_.generation() != 0 && model_.operand() != operand) {
    value_view_ = {};
    amax_view_ = {};
    scale_view_ = {};
    map_state_.view = {};
  }
  followed_ = wanted;
  has_run_ = changed_at_once(model_, [&](NumericsModel& model) {
    model.set(view.run, view.run_generation, operand, product, context.theme);
  });
}

void NumericsPanel::draw_figures(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const engine::OperandStatistics& statistics = model_.statistics();
  const auto elements = static_cast<double>(statistics.elements);
  const std::string name = model_.operand_name();
  std::vector<Figure> figures;
  const bool exact = std::isinf(statistics.snr_db) && statistics.snr_db > 0.0;
  figures.push_back(
      {.id = "numerics.snr",
       .label = fmt::format("SNR of quantizing {}", name),
       .value = plot::decibels(statistics.snr_db),
       .note = statistics.left_out() == 0
                   ? fmt::format("n {}", plot::si_text(elements))
                   : fmt::format("{} left out of {}", plot::count_text(statistics.left_out()),
                                 plot::si_text(elements)),
       .tooltip = exact ? "Every finite element came back exactly"
                        : "10 log10 of the sum of squares over the sum of squared "
                          "errors of this quantization alone. Elements that are or "
                          "became infinite or NaN are left out",
       .color = statistics.left_out() > 0 ? theme.colors.warn : 0});
  if (const engine::TensorResult* layer = model_.in_layer();
      layer != nullptr && !std::isnan(layer->error.snr_db)) {
    figures.push_back(
        {.id = "numerics.layer_snr",
         .label = fmt::format("SNR of {} in the layer", name),
         .value = plot::decibels(layer->error.snr_db),
         .note = layer->error.left_out() == 0
                     ? std::string()
                     : fmt::format("{} left out", plot::count_text(layer->error.left_out())),
         .tooltip = "Against the same tensor of a layer that computes in FP32 from the unquantized "
                    "operands: what the step lost before this tensor counts too, as on Layer"});
  }
  if (const double typical = statistics.median_block_snr_db; !std::isnan(typical)) {
    figures.push_back({.id = "numerics.typical_snr",
                       .label = "typical SNR",
                       .value = plot::decibels(typical),
                       .tooltip = profiling::kTypicalError});
  }
  figures.push_back(
      {.id = "numerics.saturated",
       .label = "saturated",
       .value = {plot::count_text(statistics.saturated), ""},
       .note = plot::share_text(static_cast<double>(statistics.saturated), elements),
       .tooltip = "Elements whose scaled size is above the format's largest finite value",
       .color = statistics.saturated > 0 ? theme.colors.warn : 0});
  figures.push_back(
      {.id = "numerics.underflowed",
       .label = "underflowed to 0",
       .value = {plot::count_text(statistics.underflowed), ""},
       .note = plot::share_text(static_cast<double>(statistics.underflowed), elements),
       .tooltip = profiling::kUnderflowMeaning,
       .color = statistics.underflowed > 0 ? theme.colors.warn : 0});
  if (statistics.lost > 0) {
    figures.push_back({.id = "numerics.lost",
                       .label = "lost",
                       .value = {plot::count_text(statistics.lost), ""},
                       .note = plot::share_text(static_cast<double>(statistics.lost), elements),
                       .tooltip = "Finite elements whose codes decode to infinity or NaN",
                       .color = theme.colors.bad});
  }
  figures.push_back(
      {.id = "numerics.scales",
       .label = "scales",
       .value = {plot::count_text(static_cast<std::uint64_t>(model_.scale().total())), ""},
       .tooltip = "One per block; with per-tensor scaling one per expert"});
  figures.push_back({.id = "numerics.recipe",
                     .label = "recipe",
                     .value = {recipe_text(model_.recipe()), ""},
                     .tooltip = "The effective recipe of the run on screen"});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float selector = operand_selector_width(theme);
  draw_headline(context, figures, width - selector - theme.px(kGapSection));
  ImGui::SetCursorScreenPos(ImVec2(at.x + width - selector, at.y));
  draw_operand_selector(context, selector);
}

float NumericsPanel::operand_selector_width(const Theme& theme) const {
  return theme.px(model_.run().result.expert_layer ? 290 : 230);
}

void NumericsPanel::draw_operand_selector(const PanelContext& context, float width) {
  const engine::RunResult& result = model_.run().result;
  const engine::StepKind step =
      result.expert_layer ? engine::StepKind::ExpertLayer : engine::StepKind::Linear;
  const std::vector<engine::StepTensor> measured = engine::operands_of(result);
  std::vector<engine::StepTensor> offered;  // every operand that this step may have
  std::ranges::set_union(engine::operands_of(step), measured, std::back_inserter(offered));
  std::vector<std::string> items;
  std::vector<controls::Options> options;
  int index = 0;
  for (const engine::StepTensor operand : offered) {
    if (operand == model_.operand()) index = static_cast<int>(items.size());
    std::string item(engine::tensor_symbol(step, operand));
    if (step == engine::StepKind::Linear && operand == engine::StepTensor::X) {
      item += " activations";
    }
    if (step == engine::StepKind::Linear && operand == engine::StepTensor::WUp) item += " weights";
    items.push_back(std::move(item));
    options.push_back({.enabled = !engine::traits_of(operand).backward || result.backward,
                       .reason = "The run had no backward pass: choose Backward or Both under Step",
                       .tooltip = std::string(engine::tensor_meaning(step, operand))});
  }
  if (controls::segmented(context, "numerics.operand", index, items,
                          {.tooltip = "Operand whose numbers are shown", .width = width},
                          options)) {
    operand_ = offered[static_cast<std::size_t>(index)];
  }
}

EmptyState NumericsPanel::no_scales(const char* what) const {
  if (model_.quantized()) {
    return {"No scale to show", no_scales_text(model_.statistics(), what)};
  }
  return {"BF16 has no scales",
          fmt::format("The recipe leaves the operands as they are, so there is no {}. Choose an "
                      "FP8 recipe in the rail to see it.",
                      what)};
}

void NumericsPanel::draw(const PanelContext& context, ImVec2 size) {
  Area area{ImGui::GetCursorScreenPos(), size};
  const float taken = draw_view_choice(context, area);
  switch (view_) {
    case kRecipes:
      recipes_.draw(context, area, taken);
      return;
    case kSteps:
      steps_.draw(context, area, taken);
      return;
    case kLayer:
      if (const auto clicked = layer_.draw(context, area, operand_)) {
        operand_ = *clicked;
        view_ = kRun;
      }
      return;
    default:
      draw_run(context, area, taken);
  }
}

float NumericsPanel::draw_view_choice(const PanelContext& context, Area& area) {
  const Theme& theme = context.theme;
  const float width = std::min(theme.px(kPartWidth), area.size.x);
  constexpr std::array kParts = {kRun, kRecipes, kLayer, kChannels};
  const bool recipes = view_ == kRecipes || view_ == kSteps;
  int part = recipes ? 1 : view_ == kLayer ? 2 : view_ == kChannels ? 3 : 0;
  if (controls::segmented(context, "numerics.part", part,
                          {"This run", "Recipes", "Layer", "Channels"}, {.width = width},
                          {{.tooltip = "The run on screen"},
                           {.tooltip = "Every recipe on the same operand, and what one costs each "
                                       "expert against another (Ctrl+Shift+2)"},
                           {.tooltip = "An expert layer, tensor by tensor"},
                           {.tooltip = "Rows and columns of an operand: which are outliers, and "
                                       "what they cost"}})) {
    view_ = kParts[static_cast<std::size_t>(part)];
  }
  if (!recipes) return width + theme.px(kGapLarge);
  float left = width + theme.px(kGap);
  if (left + theme.px(kOverWidth) > area.size.x) {  // in a narrow window it begins the next row
    area = area.below(theme.px(kRowHeight + kGapSmall));
    left = 0.0F;
  }
  ImGui::SetCursorScreenPos(ImVec2(area.at.x + left, area.at.y));
  bool over_steps = view_ == kSteps;
  if (controls::either(context, "recipes.over", over_steps, "Once", "Over steps",
                       {.tooltip = "One quantization of the operand, or delayed scaling beside "
                                   "current scaling, step by step",
                        .width = theme.px(kOverWidth)})) {
    view_ = over_steps ? kSteps : kRecipes;
  }
  return left + theme.px(kOverWidth + kGapLarge);
}

void NumericsPanel::draw_run(const PanelContext& context, const Area& area, float taken_left) {
  follow_run(context);
  if (!has_run_) {
    const float below = context.theme.px(kRowHeight + kGap);
    ImGui::SetCursorScreenPos(ImVec2(area.at.x, area.at.y + below));
    draw_no_run(context, ImVec2(area.size.x, area.size.y - below), "numerics");
    return;
  }
  if (const auto wanted = std::exchange(wanted_, std::nullopt)) {
    value_view_.selection.reset();
    if (const auto& range = wanted->values_log2) {
      value_view_.selection = plot::Range{(*range)[0], (*range)[1]};
    }
    amax_view_.selection = value_view_.selection;
    scale_view_.selection.reset();
  }
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  if (view_ == kChannels) return draw_channels(context, area, taken_left);
  // The figures and the operand selector need a separate row if the window is narrow.
  const ImVec2 figures = control_row(theme, area, taken_left, theme.px(330)).at;
  ImGui::SetCursorScreenPos(figures);
  draw_figures(context, area.end().x - figures.x);
  draw_cards(context, area.below(figures.y - area.at.y + headline_height(theme) + gap));
  if (const auto wanted = inspector_.take_recipes()) {
    recipes_.show(wanted->comparison, wanted->row, wanted->column);
    view_ = kRecipes;
  }
  veil_.draw(context, area.at, area.end());
}

void NumericsPanel::draw_cards(const PanelContext& context, const Area& area) {
  // Not in its card, which is not drawn while another one fills the page.
  follow_selection();
  const auto card = [&](CardSpec (NumericsPanel::*make)(const PanelContext&)) {
    return [this, &context, make](const Area&) { return (this->*make)(context); };
  };
  board_.draw(context, area, plan(context.theme, area.size),
              {card(&NumericsPanel::values_card), card(&NumericsPanel::scales_card),
               card(&NumericsPanel::selection_card), card(&NumericsPanel::map_card),
               card(&NumericsPanel::snr_card), card(&NumericsPanel::errors_card)});
}

CardPlan NumericsPanel::plan(const Theme& theme, ImVec2 size) {
  // The text of the selection keeps its height; the histograms share the rest.
  const float selection =
      theme.px(kRowHeight + 3 * kGap) + 3.0F * (theme.fonts.label->FontSize + theme.px(4));
  if (size.x < theme.px(560)) {
    const auto rows = [&theme](std::initializer_list<float> heights) {
      std::vector<CardPart> parts;
      for (const float height : heights) parts.push_back({theme.px(height), theme.px(height)});
      return parts;
    };
    return {.id = "numerics.stacked", .parts = rows({190, 270, 120, 280, 190, 250})};
  }
  const float histograms =
      std::max(std::max(size.y, theme.px(440)) - selection - 2.0F * theme.px(kGap), 1.0F);
  const std::vector<CardPart> left = {{0.4F * histograms, theme.px(120)},
                                      {0.6F * histograms, theme.px(180)},
                                      {selection, selection}};
  const float width = theme.px(160);
  const float height = theme.px(140);
  if (size.x >= theme.px(1180)) {
    return {.id = "numerics.cards",
            .columns = true,
            .parts = {{0.30F, width, left},
                      {0.37F, width},
                      {0.33F, width, {{0.4F, height}, {0.6F, height}}}}};
  }
  // Two columns: the error cards go under the map.
  return {
      .id = "numerics.two_columns",
      .columns = true,
      .parts = {
          {0.36F, width, left},
          {0.64F, width, {{0.56F, height}, {0.44F, height, {{0.32F, width}, {0.68F, width}}}}}}};
}

void NumericsPanel::draw_channels(const PanelContext& context, const Area& area, float taken_left) {
  const Theme& theme = context.theme;
  const float width = operand_selector_width(theme);
  const Area row = control_row(theme, area, taken_left, theme.px(440) + width);
  const float end = area.end().x - width;
  ImGui::SetCursorScreenPos(ImVec2(end, row.at.y));
  draw_operand_selector(context, width);
  const Area choices{row.at, ImVec2(end - theme.px(kGap) - row.at.x, row.size.y)};
  const auto wanted = channels_.draw(
      context, choices, area.below(row.at.y - area.at.y + theme.px(kRowHeight + kGap)), model_);
  veil_.draw(context, area.at, area.end());
  if (!wanted) return;
  lower_ = 1;
  view_ = kRun;
  inspector_.go_to(context, model_, *wanted);
}

std::optional<PageSubject> NumericsPanel::subject() const {
  if (view_ == kRecipes) return recipes_.subject();
  if (view_ == kSteps) return steps_.subject();
  return std::nullopt;
}

bool NumericsPanel::close_front() {
  switch (view_) {
    case kRecipes:
      return recipes_.close_front();
    case kSteps:
      return steps_.close_front();
    case kLayer:
      return layer_.close_front();
    case kChannels:
      return channels_.close_front();
    default:
      return board_.restore();
  }
}

std::unique_ptr<PagePanel> make_numerics_panel() { return std::make_unique<NumericsPanel>(); }

}  // namespace app
