// The inspector of a run in a window without a screen: which comparisons it shows elements of.
#include "app/gui/panels/element_inspector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "profiling/document/table.h"
#include "tests/gui/unseen_window.h"

namespace app {
namespace {

using Comparison = RecipesModel::Comparison;

// As many as the window keeps of its own.
constexpr std::size_t kKept = 16;

Comparison recorded(engine::ComparisonRequest request) {
  auto made = std::make_shared<profiling::RecordedComparison>();
  engine::QuantizationReport report{.recipe = request.recipes.front()};
  report.sample = {.rows = 1,
                   .columns = 1,
                   .original = {1.0F},
                   .codes = {0x38},
                   .scale_inv = {1.0F},
                   .decoded = {1.0F}};
  made->comparison.request = std::move(request);
  made->comparison.reports.push_back(std::move(report));
  return made;
}

class ElementInspector : public ::testing::Test {
 protected:
  ElementInspector() {
    auto run = std::make_shared<profiling::RecordedRun>();
    run->result.effective.recipe.scaling = engine::Scaling::Block;
    view_.run = run;
    model_.set(run, 1, engine::StepTensor::X, engine::Product::Fprop, window_.theme);
  }

  void frame() {
    window_.frame([this](const PanelContext& context) {
      inspector_.draw(context, model_, {ImGui::GetCursorScreenPos(), {700, 500}});
    });
  }
  std::size_t elements() const { return profiling::all_rows(inspector_.list()).size(); }
  bool offers_recipes() const {
    return std::ranges::find(window_.controls.entries(), "numerics.recipe_elements",
                             &ControlEntry::id) != window_.controls.entries().end();
  }
  engine::ComparisonRequest of_recipes() const {
    engine::ComparisonRequest request = inspection_order(model_, {0, 0});
    request.recipes.push_back(request.recipes.front());
    return request;
  }

  UnseenWindow window_;
  SessionView& view_ = window_.view;
  NumericsModel model_;
  RunInspector inspector_;
};

TEST_F(ElementInspector, AnInspectionThatReplacesTheOldestComparisonIsShown) {
  view_.comparisons.assign(kKept, recorded(of_recipes()));
  frame();
  EXPECT_EQ(elements(), 0U);
  view_.comparisons.erase(view_.comparisons.begin());
  view_.comparisons.push_back(recorded(inspection_order(model_, {0, 0})));
  frame();
  EXPECT_EQ(elements(), 1U);
}

/// A recording's series of one recipe is numerics only too.
TEST_F(ElementInspector, ASeriesIsNoInspection) {
  engine::ComparisonRequest over_steps = inspection_order(model_, {0, 0});
  EXPECT_TRUE(is_inspection(over_steps));
  over_steps.series.emplace();
  EXPECT_FALSE(is_inspection(over_steps));
  EXPECT_FALSE(is_shown_on_recipes(over_steps));
}

TEST_F(ElementInspector, OffersTheRecipesOnlyOfTheOperandOnScreen) {
  view_.from_file = true;
  view_.link.state = LinkState::Lost;
  frame();
  EXPECT_FALSE(offers_recipes());
  // The Recipes view shows none of these.
  engine::ComparisonRequest over_steps = of_recipes();
  over_steps.series.emplace();
  engine::ComparisonRequest of_gradients = of_recipes();
  of_gradients.gradients = true;
  // Of other tensors: W, X of another seed, X of another size.
  engine::ComparisonRequest of_weights = of_recipes();
  of_weights.weights = true;
  engine::ComparisonRequest of_seed = of_recipes();
  of_seed.request.seed += 1;
  engine::ComparisonRequest of_size = of_recipes();
  of_size.request.shape.rows += 1;
  view_.comparisons = {recorded(over_steps), recorded(of_gradients), recorded(of_weights),
                       recorded(of_seed), recorded(of_size)};
  frame();
  EXPECT_FALSE(offers_recipes());
  engine::ComparisonRequest timed = of_recipes();
  timed.timed_launches = 20;
  timed.request.launch.iterations += 1;  // changes no value
  view_.comparisons.push_back(recorded(timed));
  frame();
  EXPECT_TRUE(offers_recipes());
  // A worker shows the elements of the run itself.
  view_.link.state = LinkState::Responsive;
  frame();
  EXPECT_FALSE(offers_recipes());
}

/// The values follow from the request: a worker makes them again, and the recording stays.
TEST_F(ElementInspector, ARecordedRunIsInspectedByTheWorkerHere) {
  view_.from_file = true;
  view_.link.state = LinkState::Responsive;
  std::vector<Command> commands;
  window_.frame([&](const PanelContext& context) {
    inspector_.go_to(context, model_, {3, 5, 2, 2});
    commands = context.commands;
  });
  ASSERT_EQ(commands.size(), 1U);
  const auto* const order = std::get_if<InspectElements>(&commands.front());
  ASSERT_NE(order, nullptr);
  EXPECT_TRUE(order->order.only_sample);
  EXPECT_EQ(order->order.sample_row, 3);
  EXPECT_EQ(elements(), 0U);
  view_.live_comparisons.push_back(recorded(order->order));
  frame();
  EXPECT_EQ(elements(), 1U);
}

/// Recordings from before have inspections of the whole operand.
TEST_F(ElementInspector, AnInspectionOfTheWholeOperandIsShownToo) {
  engine::ComparisonRequest whole = inspection_order(model_, {0, 0});
  whole.only_sample = false;
  view_.comparisons.push_back(recorded(whole));
  frame();
  EXPECT_EQ(elements(), 1U);
}

}  // namespace
}  // namespace app
