// Controls, table, elements and layout of the Recipes view.
#include "app/gui/panels/recipes_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/controllers/background.h"
#include "app/gui/cards/card.h"
#include "app/gui/cards/card_caption.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

const char* const kTableMethod =
    "Every recipe quantizes the same operand of layer 0 in this direction. SNR, underflow and "
    "saturation count all elements; max ulp is in steps of the format's own grid. Times are "
    "medians of launches of the quantization alone, interleaved with a copy of the operand; "
    "'of copy' is bytes read and written per second against that copy.";

bool is_comparing(const SessionView& view) { return view.comparing && !view.compares_steps; }

}  // namespace

engine::ComparisonRequest RecipesView::wanted(const PanelContext& context) const {
  return comparison_order(context.view.requested, operand_ == 1, wanted_sample_);
}

void RecipesView::follow(const PanelContext& context) {
  const SessionView& view = context.view;
  orders_.follow(context, wanted(context), engine::validate(view.requested));
  recorded_.clear();
  for (const RecipesModel::Comparison& one : view.comparisons) {
    const engine::ComparisonRequest& request = one->comparison.request;
    if (request.weights == (operand_ == 1) && is_shown_on_recipes(request)) {
      recorded_.push_back(one);
    }
  }
  shown_ = !recorded_.empty();
  if (!shown_) return;
  const bool picked = view.from_file && std::ranges::find(recorded_, picked_) != recorded_.end();
  RecipesModel::Comparison found = picked ? picked_ : recorded_.back();
  const bool columnwise = direction_ == 1;
  const Followed wanted{found, columnwise, context.theme.kind};
  const bool other = followed_.comparison != found;
  if (followed_ == wanted) {
    shown_ = model_.recorded() == found;
    return;
  }
  const engine::ComparisonRequest& answered = found->comparison.request;
  const OperandRegion sample{answered.sample_row, answered.sample_column, answered.sample_rows,
                             answered.sample_columns};
  if (other && view.from_file) wanted_sample_ = sample;
  followed_ = wanted;
  shown_ = changed_at_once(model_, [&](RecipesModel& model) {
    model.set(std::move(found), columnwise, context.theme);
    // A recording may compare other recipes.
    if (std::exchange(chosen_of_, model.table().rows.size()) != model.table().rows.size()) {
      table_.chosen = model.first_choice();
    }
    model.choose(table_.chosen, context.theme);
  });
  if (other && shown_ && sample.rows > 0) pick_largest(sample);
}

void RecipesView::draw(const PanelContext& context, const Area& area, float taken_left) {
  follow(context);
  const Theme& theme = context.theme;
  const float row = theme.px(kRowHeight);
  const float controls_width = theme.px(recorded_.size() > 1 && context.view.from_file ? 770 : 590);
  Area bar = control_row(theme, area, taken_left, controls_width);
  bar.size.y = draw_controls(context, bar) - bar.at.y - theme.px(kGapSmall);
  const auto below = [&](const Area& other) {
    return Area{ImVec2(area.at.x, other.end().y + theme.px(kGapSmall)), ImVec2(area.size.x, row)};
  };
  const float left = bar.size.x - controls_width;
  const Area status = left < theme.px(160)
                          ? below(bar)
                          : Area{ImVec2(bar.at.x + controls_width, bar.at.y), ImVec2(left, row)};
  draw_status(context, status);
  const float top = status.end().y + theme.px(kGap);
  const Area rest = area.below(top - area.at.y);
  shown_ ? draw_content(context, rest) : draw_nothing(context, rest);
}

float RecipesView::draw_controls(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  ImGui::SetCursorScreenPos(area.at);
  controls::Flow flow(theme, area.at.x, area.end().x);
  flow.next(theme.px(80));
  controls::segmented(context, "recipes.operand", operand_, {"X", "W"},
                      {.tooltip = "Activations, or the weights of layer 0", .width = theme.px(80)});
  flow.next(theme.px(170));
  controls::segmented(context, "recipes.direction", direction_, {"Rowwise", "Columnwise"},
                      {.tooltip = "Blocks along the rows (for fprop) or along the columns (for the "
                                  "products of the backward pass)",
                       .width = theme.px(170)});
  constexpr OrderWords kWords{
      .name = "recipes",
      .verb = "compare",
      .label = "Quantize all",
      .tooltip =
          "Quantize the operand with every recipe, with the rail's shape, input, routing "
          "and settings",
      .live_tooltip = "Quantize again whenever the request changes; the newest request wins"};
  const SessionView& view = context.view;
  orders_.draw_bar(context, kWords, {is_comparing(view), engine::validate(view.requested)}, flow,
                   wanted(context));
  flow.next(theme.px(150));
  if (controls::either(context, "recipes.below", by_expert_, "Elements", "Experts",
                       {.tooltip = "What is shown of the chosen recipes: values, scales, codes and "
                                   "single elements, or what each costs every expert",
                        .width = theme.px(150)})) {
    board_.restore();
  }
  if (view.from_file && recorded_.size() > 1) {
    flow.next(theme.px(170));
    std::vector<std::string> names;
    for (const RecipesModel::Comparison& one : recorded_) {
      names.push_back(fmt::format("{} of {}, {} recipes", names.size() + 1, recorded_.size(),
                                  one->comparison.request.recipes.size()));
    }
    int index =
        static_cast<int>(std::ranges::find(recorded_, followed_.comparison) - recorded_.begin());
    if (controls::combo(context, "recipes.which", "##which", index, names,
                        {.tooltip = "Which of the recording's comparisons of this operand is shown",
                         .width = theme.px(170)})) {
      picked_ = recorded_[static_cast<std::size_t>(index)];
    }
  }
  return flow.bottom();
}

std::string RecipesView::shown_text() const {
  const engine::RecipeComparison& comparison = model_.comparison();
  const engine::ShapeSpec& shape = comparison.request.request.shape;
  return fmt::format("{} x {}, {} experts, {}",
                     plot::count_text(static_cast<std::uint64_t>(model_.operand_rows())), shape.k,
                     shape.num_experts, comparison.device.name);
}

std::string RecipesView::refusal(const SessionView& view) {
  if (is_comparing(view)) return "All recipes are being compared";
  return order_refusal(view, engine::validate(view.requested));
}

PageSubject RecipesView::subject() const {
  const std::string title = fmt::format("Every recipe on the same {}", operand_ == 0 ? "X" : "W");
  if (!shown_) return {.words = title};
  return {.words = title + ": " + shown_text(), .shape = model_.comparison().request.request.shape};
}

void RecipesView::draw_status(const PanelContext& context, const Area& area) const {
  const SessionView& view = context.view;
  OrderStatus status{.id = "recipes.status",
                     .label = "state of the comparison",
                     .error = view.compares_steps ? std::string() : view.comparison_error};
  if (is_comparing(view)) {
    status.in_progress = view.link.state == LinkState::Busy
                             ? fmt::format("comparing: {:.0f} %", 100.0 * view.link.pulse.fraction)
                             : "comparing";
  }
  if (shown_) {
    // The page's headline says of which tensor.
    if (!view.from_file && !answers(model_.comparison().request, wanted(context))) {
      status.stale = "answers an older request: Quantize all again";
    }
  }
  draw_order_status(context, area, status);
}

void RecipesView::draw_nothing(const PanelContext& context, const Area& area) {
  const char* operand = operand_ == 0 ? "X" : "W";
  const std::string sentence = fmt::format(
      "Quantize all quantizes {} of the rail's request with every recipe and shows their "
      "codes, scales, errors and times side by side.",
      operand);
  if (draw_no_result(
          context, area, is_comparing(context.view),
          {.in_progress_title = "Quantizing",
           .in_progress = fmt::format("Every recipe quantizes {}, one after the other.", operand),
           .title = "No comparison yet",
           .sentence = sentence,
           .recorded = fmt::format("This recording holds no comparison of {}. {} This needs a "
                                   "worker and closes the recording.",
                                   operand, sentence),
           .error = context.view.compares_steps ? std::string() : context.view.comparison_error,
           .button_id = "recipes.compare_now",
           .button_label = "Quantize all"})) {
    orders_.send(context, wanted(context));
  }
}

void RecipesView::draw_content(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const auto recipes = static_cast<float>(std::max<std::size_t>(model_.table().rows.size(), 3));
  const float table = theme.px(62) + recipes * theme.px(18);
  const bool wide = area.size.x >= theme.px(640);
  const float plots = theme.px(150);
  const float below = theme.px(wide ? 270 : 306);
  const float rest = std::max(area.size.y - table - 2.0F * theme.px(kGap), 1.0F);
  const float width = theme.px(160);
  CardPlan plan{.id = "recipes.stacked",
                .parts = {{table, table},
                          {plots, plots},
                          {plots, plots},
                          {plots, plots},
                          {below, below},
                          {below, below}}};
  if (by_expert_) {
    plan = {.id = "recipes.experts",
            .parts = {{table, table},
                      {0.5F * rest, plots, {{1.0F, width}, {1.0F, width}}},
                      {0.5F * rest, plots}}};
  } else if (wide) {
    plan = {
        .id = "recipes.cards",
        .parts = {
            {table, table},
            {rest * plots / (plots + below), plots, {{1.0F, width}, {1.0F, width}, {1.0F, width}}},
            {rest * below / (plots + below), below, {{1.1F, width}, {1.0F, width}}}}};
  }
  plan.caption = [this] {
    const engine::RecipeComparison& comparison = model_.comparison();
    return "Recipes on one operand: " +
           request_caption(comparison.request.request, comparison.device);
  };
  board_.draw(context, area, plan, cards(context));
}

std::vector<CardBoard::MakeCard> RecipesView::cards(const PanelContext& context) {
  const auto card = [&](CardSpec (RecipesView::*make)(const PanelContext&)) {
    return [this, &context, make](const Area&) { return (this->*make)(context); };
  };
  if (by_expert_) {
    return {card(&RecipesView::table_card), card(&RecipesView::snr_card),
            card(&RecipesView::waste_card), card(&RecipesView::experts_card)};
  }
  return {card(&RecipesView::table_card),  card(&RecipesView::values_card),
          card(&RecipesView::scales_card), card(&RecipesView::codes_card),
          card(&RecipesView::maps_card),   card(&RecipesView::elements_card)};
}

CardSpec RecipesView::table_card(const PanelContext& context) {
  const engine::RecipeComparison& comparison = model_.comparison();
  return {.id = "recipes.table_card",
          .title = "Recipes",
          .question = "What does each recipe do to the same numbers, and what does it cost?",
          .note = fmt::format("{} of {}, n {} launches; click up to three rows to overlay them",
                              direction_ == 0 ? "rows" : "columns", operand_ == 0 ? "X" : "W",
                              comparison.request.timed_launches),
          .measured = kTableMethod,
          .table = {.id = "##recipes.table",
                    .drawn = &model_.table(),
                    .generation = model_.generation(),
                    .state = &table_,
                    .chosen = [this, &context](auto) { take_choice(context); }},
          .header_widgets = context.theme.px(84) * static_cast<float>(model_.scale_pairs().size()),
          .header = [this, &context] { draw_pairs(context); }};
}

void RecipesView::draw_pairs(const PanelContext& context) {
  const std::vector<ScalePair>& pairs = model_.scale_pairs();
  std::vector<std::string> names;
  int index = -1;
  for (const ScalePair& pair : pairs) {
    if (pair.rows == table_.chosen) index = static_cast<int>(names.size());
    names.push_back(pair.name);
  }
  if (controls::segmented(context, "recipes.pair", index, names,
                          {.tooltip = "Choose both rows of a recipe, first its FP32 and then its "
                                      "power-of-two scales: what rounding the scales costs",
                           .width = context.theme.px(80) * static_cast<float>(pairs.size())})) {
    table_.chosen = pairs[static_cast<std::size_t>(index)].rows;
    take_choice(context);
  }
}

void RecipesView::take_choice(const PanelContext& context) {
  // A refused recipe has nothing to overlay.
  std::erase_if(table_.chosen, [this](int row) {
    return !model_.reports()[static_cast<std::size_t>(row)]->refused.empty();
  });
  model_.choose(table_.chosen, context.theme);
}

void RecipesView::go_to(const PanelContext& context, const OperandRegion& region) {
  if (context.view.from_file) return pick_largest(region);
  wanted_sample_ = region;
  sample_.pick(0, 0);
  orders_.send(context, wanted(context));
}

void RecipesView::pick_largest(const OperandRegion& region) {
  for (const engine::QuantizationReport* report : model_.reports()) {
    if (report->sample.rows == 0) continue;
    if (const auto largest = largest_in(report->sample, region)) show_element(*report, *largest);
    return;
  }
}

void RecipesView::show_element(const engine::QuantizationReport& report,
                               const OperandPlace& place) {
  const engine::QuantizationSample& sample = report.sample;
  const std::int64_t row = place.row - sample.row;
  const std::int64_t column = place.column - sample.column;
  if (row < 0 || row >= sample.rows || column < 0 || column >= sample.columns) return;
  sample_.pick(static_cast<int>(row), static_cast<int>(column));
}

void RecipesView::show(const RecipesModel::Comparison& comparison, std::int64_t row,
                       std::int64_t column) {
  const engine::RecipeComparison& shown = comparison->comparison;
  operand_ = shown.request.weights ? 1 : 0;
  picked_ = comparison;
  by_expert_ = false;
  for (const engine::QuantizationReport& report : shown.reports) {
    if (report.sample.rows == 0) continue;
    return show_element(report, {row, column});
  }
}

void RecipesView::draw_sample_controls(const PanelContext& context) {
  const engine::QuantizationSample& shown = model_.overlays()[cell_recipe_].report->sample;
  // A searched sample is where its largest element is; a typed place is still to be dragged on.
  const bool searched = wanted_sample_.rows > 0;
  std::int64_t row = searched ? shown.row : wanted_sample_.row;
  std::int64_t column = searched ? shown.column : wanted_sample_.column;
  if (draw_sample_position(context,
                           {.row_id = "recipes.row",
                            .column_id = "recipes.column",
                            .column_label = "column",
                            .width = 56,
                            .map = "a scale map",
                            .fixed = context.view.from_file
                                         ? "A recording holds one sample: quantize here for another"
                                         : "",
                            .rows = model_.operand_rows(),
                            .columns = model_.comparison().request.request.shape.k},
                           row, column)) {
    go_to(context, {row, column});
  }
  controls::segmented(context, "recipes.field", sample_.field, cell_fields(),
                      {.tooltip = "What the cells show"});
}

CardSpec RecipesView::elements_card(const PanelContext& context) {
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  // A click on a line of the arithmetic selects whose cells are shown.
  cell_recipe_ = std::min(cell_recipe_, overlays.empty() ? 0 : overlays.size() - 1);
  return {.id = "recipes.sample_card",
          .title = "Elements",
          .question = "What happens to a single number? Hover a cell for its arithmetic.",
          .note = overlays.empty() ? "" : "cells of " + overlays[cell_recipe_].name,
          .measured =
              "Codes, scales and decoded values as the kernels wrote them, of 32 x 32 "
              "elements. Near the end of the operand the sample moves up and left.",
          .list = [this] { return elements_table(model_.overlays()); },
          .empty = [this] { return none_chosen(); },
          .draw = [this, &context](const Area&) { draw_elements(context); }};
}

void RecipesView::draw_elements(const PanelContext& context) {
  draw_sample_controls(context);
  const Theme& theme = context.theme;
  const Area room{ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail()};
  const float line = theme.fonts.mono->FontSize + theme.px(2);
  const float text = line * (1.0F + 2.0F * static_cast<float>(model_.overlays().size()));
  const bool side_by_side = room.size.x > theme.px(860);
  const float gap = theme.px(kGap);
  const std::vector<Area> parts =
      side_by_side ? columns_of(room, gap, {1.0F, 1.0F})
                   : rows_of(room, gap, {std::max(room.size.y - text - gap, 3 * line), text});
  draw_sample_cells(context, "recipes.cells", model_.overlays()[cell_recipe_], parts[0], sample_);
  draw_arithmetic(context, parts[1]);
}

void RecipesView::draw_arithmetic(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  const engine::QuantizationSample& sample = overlays[cell_recipe_].report->sample;
  ImGui::SetCursorScreenPos(area.at);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild("##recipes.arithmetic", area.size, false);
  ImGui::PopStyleVar();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.mono;
  const float line = font->FontSize + theme.px(2);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::int64_t row = sample.row + sample_.picked_row;
  const std::int64_t column = sample.column + sample_.picked_column;
  const std::string original =
      read_element(overlays[cell_recipe_], sample_.picked_row, sample_.picked_column).original;
  std::string all =
      fmt::format("x = {}[{}, {}] = {}", operand_ == 0 ? "X" : "W", row, column, original);
  plot::draw_text(draw, font, at, theme.colors.text, all);
  float y = at.y + line;
  float names = theme.px(98);
  for (const RecipeOverlay& one : overlays) {
    names = std::max(names, plot::text_size(theme.fonts.label, one.name).x + theme.px(kGap));
  }
  names = std::min(names, 0.42F * area.size.x);  // the arithmetic needs the rest
  for (std::size_t i = 0; i < overlays.size(); ++i) {
    const ElementReading reading =
        read_element(overlays[i], sample_.picked_row, sample_.picked_column);
    const ImVec2 low(at.x, y);
    const ImVec2 high(area.end().x, y + 2 * line);
    const std::string first = reading.code + "   " + reading.value;
    const std::string second = reading.decoded + "   " + reading.error;
    ImGui::SetCursorScreenPos(low);
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::InvisibleButton("reading", ImVec2(std::max(high.x - low.x, 1.0F), 2 * line))) {
      cell_recipe_ = i;
    }
    if (ImGui::IsItemHovered()) {
      draw->AddRectFilled(low, high, plot::faded(theme.colors.raised, 0.6F), theme.px(kRounding));
      controls::tooltip(context, overlays[i].name + "\n" + first + "\n" + second +
                                     "\nA click shows its cells above.");
    }
    ImGui::PopID();
    draw->AddRectFilled(ImVec2(low.x, y + theme.px(3)),
                        ImVec2(low.x + theme.px(8), y + theme.px(11)), overlays[i].color,
                        theme.px(1));
    const float left = low.x + theme.px(12) + names;
    plot::draw_text(draw, theme.fonts.label, ImVec2(low.x + theme.px(12), y),
                    i == cell_recipe_ ? theme.colors.text : theme.colors.dim_text,
                    plot::fitted(theme.fonts.label, overlays[i].name, left - low.x - theme.px(14)));
    plot::draw_text(draw, font, ImVec2(left, y), theme.colors.text,
                    plot::fitted(font, first, high.x - left));
    plot::draw_text(draw, font, ImVec2(low.x + theme.px(12), y + line), theme.colors.text,
                    plot::fitted(font, second, high.x - low.x - theme.px(12)));
    controls::record(context, fmt::format("recipes.reading.{}", i).c_str(),
                     overlays[i].name.c_str(), "text", first + "   " + second, low, high);
    all += "\n" + overlays[i].name + ": " + first + "   " + second;
    y += 2 * line;
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(ImVec2(1, y - at.y));
  ImGui::EndChild();
  controls::record(context, "recipes.arithmetic", "arithmetic of the element", "text", all, area.at,
                   area.end());
}

}  // namespace app
