#include "app/gui/panels/pow2_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/controllers/background.h"
#include "app/gui/cards/card.h"
#include "app/gui/cards/card_caption.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/panels/recipes_model.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/recipe_traits.h"

namespace app {
namespace {

const char* const kPairMethod =
    "One request quantizes the same operand with FP32 and with power-of-two scales. Wasted is log2 "
    "of the scale that a block's amax asks for over the scale that was used. Times are medians of "
    "timed launches of the quantization alone; nothing here is computed from a model.";

plot::Quantity time_of(double nanoseconds) {
  return std::isnan(nanoseconds) ? plot::Quantity{"not timed", ""} : plot::duration(nanoseconds);
}

}  // namespace

engine::ComparisonRequest Pow2View::wanted(const PanelContext& context) const {
  return pow2_order(context.view.requested, operand_ == 1);
}

void Pow2View::follow(const PanelContext& context) {
  const SessionView& view = context.view;
  orders_.follow(context, wanted(context), engine::validate(view.requested));
  const auto scaling = pow2_scalings().at(static_cast<std::size_t>(scaling_));
  // Newest first: the search ends at the one that is already shown.
  Pow2Model::Comparison found;
  for (auto one = view.comparisons.rbegin(); one != view.comparisons.rend() && !found; ++one) {
    const engine::ComparisonRequest& request = (*one)->comparison.request;
    if (request.weights != (operand_ == 1) || request.gradients) continue;
    if (*one == followed_.comparison || compares_pow2((*one)->comparison)) found = *one;
  }
  shown_ = found != nullptr;
  if (!shown_) return;
  const Followed wanted{found, scaling, context.theme.kind};
  if (followed_ == wanted) {
    shown_ = model_.recorded() == found;
    return;
  }
  followed_ = wanted;
  shown_ = changed_at_once(
      model_, [&](Pow2Model& model) { model.set(std::move(found), scaling, context.theme); });
}

float Pow2View::draw_controls(const PanelContext& context, const Area& area, float taken_left) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const ImVec2 at = control_row(theme, area, taken_left, theme.px(560)).at;
  ImGui::SetCursorScreenPos(at);
  controls::Flow flow(theme, at.x, area.end().x);
  flow.next(theme.px(64));
  controls::segmented(context, "pow2.operand", operand_, {"X", "W"},
                      {.tooltip = "Activations, or the weights of layer 0", .width = theme.px(64)});
  std::vector<std::string> scalings;
  for (const engine::Scaling one : pow2_scalings()) {
    scalings.emplace_back(engine::traits_of(one).label);
  }
  const float width = theme.px(78) * static_cast<float>(scalings.size());
  flow.next(width);
  controls::segmented(context, "pow2.scaling", scaling_, scalings,
                      {.tooltip = "Kind of scaling whose scales are compared", .width = width});
  constexpr OrderWords kWords{
      .name = "pow2",
      .verb = "compare",
      .label = "Compare",
      .tooltip =
          "Quantize the operand with both kinds of scale, with the rail's shape, input, "
          "routing and settings",
      .live_tooltip = "Compare again whenever the request changes; the newest request wins"};
  orders_.draw_bar(context, kWords, {view.comparing, engine::validate(view.requested)}, flow,
                   wanted(context));
  float bottom = flow.bottom() - theme.px(kGapSmall);
  std::string status;
  if (!view.comparison_error.empty()) status = view.comparison_error;
  if (shown_ && !view.from_file && !view.comparing &&
      !answers(model_.recorded()->comparison.request, wanted(context))) {
    status = "answers an older request: Compare again";
  }
  if (!status.empty()) {
    const ImFont* font = theme.fonts.label;
    plot::draw_text(ImGui::GetWindowDrawList(), font,
                    ImVec2(area.at.x, bottom + theme.px(kGapSmall)), theme.colors.warn,
                    plot::fitted(font, status, area.size.x));
    bottom += font->FontSize + theme.px(kGapSmall);
  }
  controls::record(context, "pow2.status", "state of the comparison", "text",
                   view.comparing ? "comparing" : status, at, ImVec2(area.end().x, bottom));
  return bottom + theme.px(kGap);
}

namespace {

/// What the SNR beside it does not count.
std::string left_out_note(const engine::QuantizationReport* report) {
  if (report == nullptr || report->statistics.left_out() == 0) return {};
  return fmt::format("{} left out", plot::count_text(report->statistics.left_out()));
}

}  // namespace

void Pow2View::draw_figures(const PanelContext& context, float width) {
  const Pow2Pair& pair = model_.pair();
  const engine::RangeWaste waste = pair.pow2 != nullptr ? pair.pow2->waste : engine::RangeWaste{};
  const auto binades = [&waste](double value) -> plot::Quantity {
    return waste.scales == 0 ? plot::Quantity{"n/a", ""}
                             : plot::Quantity{fmt::format("{:.3f}", value), "binades"};
  };
  const double none = std::nan("");
  const double free_db = pair.free != nullptr ? pair.free->statistics.snr_db : none;
  const double pow2_db = pair.pow2 != nullptr ? pair.pow2->statistics.snr_db : none;
  const auto launches = [](const engine::QuantizationReport* report) {
    return report == nullptr ? std::string() : fmt::format("n {}", report->times_ns.size());
  };
  const engine::RecipeTraits& recipe = engine::traits_of(model_.scaling());
  draw_headline(context,
                {{.id = "pow2.wasted",
                  .label = "range wasted, mean",
                  .value = binades(waste.mean),
                  .note = fmt::format("n {}", plot::si_text(static_cast<double>(waste.scales))),
                  .tooltip = kPairMethod},
                 {.id = "pow2.worst",
                  .label = "worst scale",
                  .value = binades(waste.max),
                  .tooltip = kPairMethod},
                 {.id = "pow2.free_snr",
                  .label = "SNR, FP32 scales",
                  .value = plot::decibels(free_db),
                  .note = left_out_note(pair.free),
                  .tooltip = recipe.chooses_pow2()
                                 ? std::string(kPairMethod)
                                 : fmt::format("{} scales are always powers of two", recipe.title)},
                 {.id = "pow2.pow2_snr",
                  .label = "SNR, power-of-two scales",
                  .value = plot::decibels(pow2_db),
                  .note = left_out_note(pair.pow2),
                  .tooltip = kPairMethod},
                 {.id = "pow2.lost",
                  .label = "SNR lost",
                  .value = plot::decibels(model_.lost_db()),
                  .tooltip = "Below 0: rounding the scales helped this operand",
                  .color = model_.lost_db() > 0.0 ? context.theme.colors.warn : 0},
                 {.id = "pow2.free_time",
                  .label = "time, FP32 scales",
                  .value = time_of(Pow2Model::median_ns(pair.free)),
                  .note = launches(pair.free),
                  .tooltip = kPairMethod},
                 {.id = "pow2.pow2_time",
                  .label = "time, power-of-two scales",
                  .value = time_of(Pow2Model::median_ns(pair.pow2)),
                  .note = launches(pair.pow2),
                  .tooltip = kPairMethod}},
                width);
}

CardTable Pow2View::table() {
  return {.id = "##pow2.table",
          .columns = pow2_columns(),
          .rows = &model_.rows(),
          .generation = model_.generation(),
          .state = &table_};
}

CardSpec Pow2View::waste_card(const PanelContext& context) {
  return {.id = "pow2.waste_card",
          .title = "Range wasted",
          .question = "How much of the code's range do rounded scales leave unused?",
          .note = "binades per expert: mean, line to the worst scale",
          .measured = kPairMethod,
          .table = table(),
          .draw = [this, &context](const Area& room) { draw_waste(context, room.size); },
          .read_out = {"pow2.waste", "wasted range per expert",
                       [this] { return fmt::format("experts={}", model_.waste().size()); }}};
}

void Pow2View::draw_waste(const PanelContext& context, ImVec2 size) {
  const int hovered = plot::draw_bars(context,
                                      {.id = "##pow2.waste",
                                       .size = size,
                                       .y = {.label = "binades", .limits = {0.0, 1.0}},
                                       .x_label = "expert"},
                                      model_.waste(), waste_view_)
                          .index;
  if (hovered < 0) return;
  const engine::RangeWaste& waste =
      model_.pair().pow2->experts[static_cast<std::size_t>(hovered)].waste;
  plot::read_out(context, fmt::format("expert {}", hovered),
                 {{"mean", fmt::format("{:.4f} binades", waste.mean)},
                  {"worst scale", fmt::format("{:.4f} binades", waste.max)},
                  {"largest code used", fmt::format("{:.1f} % of the range's top, on average",
                                                    100.0 * std::exp2(-waste.mean))},
                  {"scales", plot::count_text(waste.scales)}});
}

CardSpec Pow2View::snr_card(const PanelContext& context) {
  const bool twin = model_.pair().free != nullptr;
  if (!twin) variant_ = 1;
  const auto choose_variant = [this, &context, twin] {
    controls::segmented(context, "pow2.variant", variant_, {"FP32", "power-of-two"},
                        {.tooltip = "Scales whose error is drawn; both come from one comparison",
                         .width = context.theme.px(190)},
                        {{.enabled = twin,
                          .reason = fmt::format("{} has only power-of-two scales",
                                                engine::traits_of(model_.scaling()).title)},
                         {}});
  };
  return {.id = "pow2.snr_card",
          .title = "SNR of the operand",
          .question = "How does switching the kind of scale affect each expert?",
          .note = "dB per expert",
          .measured = kPairMethod,
          .table = table(),
          .header_widgets = context.theme.px(198),
          .header = choose_variant,
          .draw = [this, &context](const Area& room) { draw_snr(context, room.size); },
          .read_out = {"pow2.snr", "SNR per expert", [this] {
                         return fmt::format("variant={};experts={}",
                                            variant_ == 1 ? "pow2" : "fp32",
                                            model_.snr(variant_ == 1).size());
                       }}};
}

void Pow2View::draw_snr(const PanelContext& context, ImVec2 size) {
  // One axis for both, so that the switch changes the bars and not the axis.
  double top = 0.0;
  for (const bool pow2 : {false, true}) {
    for (const plot::Bar& bar : model_.snr(pow2)) {
      if (std::isfinite(bar.value)) top = std::max(top, bar.value);
    }
  }
  const int hovered = plot::draw_bars(context,
                                      {.id = "##pow2.snr",
                                       .size = size,
                                       .y = {.kind = plot::AxisKind::Decibel,
                                             .label = "dB",
                                             .limits = {0.0, top > 0.0 ? 1.08 * top : 1.0}},
                                       .x_label = "expert"},
                                      model_.snr(variant_ == 1), snr_view_)
                          .index;
  if (hovered < 0) return;
  const auto& cells = model_.rows()[static_cast<std::size_t>(hovered)].cells;
  plot::read_out(context, fmt::format("expert {}", hovered),
                 {{"FP32 scales, dB", cells[4].text},
                  {"power-of-two scales, dB", cells[5].text},
                  {"lost, dB", cells[6].text}});
}

CardSpec Pow2View::table_card(const PanelContext& context) {
  const auto switch_in_run = [&context] {
    engine::RunRequest request = context.view.requested;
    if (controls::checkbox(context, "pow2.in_run", "power-of-two scales in the run",
                           request.recipe.pow2_scales,
                           {.tooltip = "Sets the switch in the rail; a live run follows"})) {
      context.commands.push_back(EditRequest{request});
    }
  };
  return {.id = "pow2.table_card",
          .title = "Experts",
          .question = "Which expert loses most? A click on a column sorts.",
          .note = model_.recorded()->comparison.device.name,
          .measured = kPairMethod,
          .table = table(),
          .header_widgets = context.theme.px(190),
          .header = switch_in_run};
}

void Pow2View::draw(const PanelContext& context, const Area& area, float taken_left) {
  follow(context);
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const float gap = theme.px(kGap);
  Area rest = area.below(draw_controls(context, area, taken_left) - area.at.y);
  if (!shown_) {
    const std::string sentence =
        "Compare quantizes the operand with FP32 and with power-of-two scales and shows what the "
        "rounding wastes in range, costs in SNR and saves in time.";
    if (draw_no_result(
            context, rest, view.comparing,
            {.in_progress_title = "Comparing",
             .in_progress = "The operand is quantized with one kind of scale after the other.",
             .title = "No comparison yet",
             .sentence = sentence,
             .recorded = "This recording holds no such comparison. " + sentence,
             .error = view.comparison_error,
             .button_id = "pow2.compare_now",
             .button_label = "Compare"})) {
      orders_.send(context, wanted(context));
    }
    return;
  }
  ImGui::SetCursorScreenPos(rest.at);
  draw_figures(context, rest.size.x);
  rest = rest.below(headline_height(theme) + gap);
  if (model_.pair().pow2 == nullptr) {
    ImGui::SetCursorScreenPos(rest.at);
    draw_empty(context, rest.size, "Not in this comparison",
               "It holds no report of this scaling with power-of-two scales. Compare again.");
    return;
  }
  const float least = theme.px(140);
  const auto card = [&](CardSpec (Pow2View::*make)(const PanelContext&)) {
    return [this, &context, make](const Area&) { return (this->*make)(context); };
  };
  board_.draw(
      context, rest,
      {.id = "pow2.cards",
       .parts = {{1.0F, least, {{1.0F, least}, {1.0F, least}}}, {1.0F, least}},
       .caption =
           [this] {
             const engine::RecipeComparison& comparison = model_.recorded()->comparison;
             return "Cost of power-of-two scales: " +
                    request_caption(comparison.request.request, comparison.device);
           }},
      {card(&Pow2View::waste_card), card(&Pow2View::snr_card), card(&Pow2View::table_card)});
}

}  // namespace app
