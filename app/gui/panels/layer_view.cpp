#include "app/gui/panels/layer_view.h"

#include <fmt/format.h>

#include <utility>

#include "app/controllers/background.h"
#include "engine/model/projections.h"

namespace app {
namespace {

/// Every expert with its share, for a request that nothing was run for.
std::vector<std::int64_t> equal_splits(const engine::ShapeSpec& shape) {
  std::vector<std::int64_t> splits;
  const std::int64_t experts = std::max(shape.num_experts, 1);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    splits.push_back(shape.rows * (expert + 1) / experts - shape.rows * expert / experts);
  }
  return splits;
}

}  // namespace

void LayerView::follow(const PanelContext& context) {
  const SessionView& view = context.view;
  has_layer_ = view.run != nullptr && view.run->result.expert_layer.has_value();
  if (has_layer_ && followed_ != view.run_generation) {
    followed_ = view.run_generation;
    changed_at_once(model_, [&](LayerModel& model) { model.set(view.run, view.run_generation); });
  }
  has_layer_ = has_layer_ && model_.generation() == view.run_generation;
  const bool ran = view.run != nullptr;
  const engine::RunRequest& request = ran ? view.run->result.effective : view.requested;
  if (!memories_.empty() && request == memory_of_ &&
      (!ran || memory_splits_ == view.run->result.splits)) {
    return;
  }
  memories_.clear();
  memory_of_ = request;
  if (!engine::validate(request).ok()) return;
  memory_splits_ = ran ? view.run->result.splits : equal_splits(request.shape);
  memories_ = recipe_memories(request, memory_splits_);
}

std::function<profiling::Table()> LayerView::layer_list(
    profiling::Table (*table)(const engine::RunResult&)) const {
  if (!has_layer_) return nullptr;
  return [this, table] { return table(model_.run().result); };
}

EmptyState LayerView::no_layer(const PanelContext& context) const {
  if (has_layer_) return {};
  const SessionView& view = context.view;
  if (engine::is_expert_layer(view.requested)) {
    return {"No expert layer has run yet",
            view.run == nullptr
                ? "Run the request to see its layer tensor by tensor."
                : "The run on screen has no expert layer. Run the request to see its "
                  "layer tensor by tensor."};
  }
  engine::RunRequest wanted = view.requested;
  wanted.step = engine::StepKind::ExpertLayer;
  const std::string sentence =
      "A whole expert layer is an up projection, an activation and a down projection. Its picture "
      "shows the error, the memory and the time of every tensor and kernel between X and Y.";
  // Both halves of H are multiples of 16.
  const std::int64_t unit =
      16 * std::int64_t{engine::traits_of(wanted.expert_layer.activation).halves()};
  wanted.shape.n = (wanted.shape.n + unit - 1) / unit * unit;
  if (wanted.shape.n != view.requested.shape.n) wanted.shape.preset.clear();
  return {"The step is one linear layer", sentence, "layer.choose", "Choose the expert layer",
          [&context, wanted] { context.commands.push_back(EditRequest{wanted}); }};
}

std::optional<engine::StepTensor> LayerView::draw(const PanelContext& context, const Area& area,
                                                  engine::StepTensor shown) {
  follow(context);
  shown_ = shown;
  clicked_.reset();
  const Theme& theme = context.theme;
  const Area rest = area.below(theme.px(kRowHeight + kGap));
  const float line = theme.fonts.label->FontSize + theme.px(7);
  const float width = theme.px(280);
  // The lower cards need a row for each recipe, a sentence and a legend.
  const float lower = theme.px(2 * kRowHeight + 2 * kGap) + line * 8.0F;
  // Tokens add two rows of boxes, and two of kernels.
  const bool tokens = has_layer_ && model_.run().result.effective.expert_layer.top_k > 0;
  const auto card = [&](CardSpec (LayerView::*make)(const PanelContext&)) {
    return [this, &context, make](const Area&) { return (this->*make)(context); };
  };
  board_.draw(context, rest,
              {.id = "layer.cards",
               .parts = {{0.62F, theme.px(tokens ? 390 : 330)},
                         {0.38F, lower, {{1.0F, width}, {1.0F, width}}}}},
              {card(&LayerView::picture_card), card(&LayerView::errors_card),
               card(&LayerView::memory_card)});
  return std::exchange(clicked_, std::nullopt);
}

}  // namespace app
