// What views derive: lanes in order, whole bins of a selection, series of delayed scaling. Expected
// figures are computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/gui/panels/graphs_model.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipe_steps_model.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/drawn_table.h"
#include "app/gui/plot/lane_order.h"
#include "profiling/document/columns.h"
#include "profiling/export/csv.h"

namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Not;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

TEST(TimerStep, IsThatOfWhichShortDurationsAreMultiples) {
  // As an H200 reports memsets and kernels: steps of 32 ns, give or take one.
  std::vector<float> durations = {704, 736, 737,  768,  769,    800,
                                  800, 831, 1920, 2048, 143264, kNone};
  EXPECT_EQ(app::timer_step_ns(durations), 32.0);
  durations.push_back(755);
  EXPECT_EQ(app::timer_step_ns(durations), 0.0) << "this timer is finer";
  EXPECT_EQ(app::timer_step_ns({100000, 110000}), 0.0) << "two say nothing";
}

TEST(TabbedText, HasUnitsForPeopleAndKeepsOneFieldForATextWithTabs) {
  using profiling::Measure;
  std::vector<profiling::Row> rows(2);
  rows[0].cells = profiling::cells_of("a\tb", 2500.0, profiling::Cell(), 1);
  rows[1].cells = profiling::cells_of("c\nd", profiling::Cell(), profiling::Cell(), 2);
  const profiling::Table table = profiling::table_of(
      "t",
      {profiling::column("node"), profiling::column("median_ns", Measure::Time, "median"),
       profiling::column("empty"), profiling::for_files("id", Measure::Count)},
      rows);
  EXPECT_EQ(app::plot::tabbed_text(table), "node\tmedian\na b\t2.500 \u00b5s\nc d\t\u2013\n");
  EXPECT_EQ(profiling::csv_text(table),
            "node,median_ns,empty,id\r\na\tb,2500,,1\r\n\"c\nd\",,,2\r\n");
}

TEST(BinsTable, ListsWhatIsNotEmptyAndWhatHasNoBin) {
  const app::plot::Bins bins{
      .edges = {0, 1, 2, 4}, .counts = {5, 0, 12345}, .zeros = 7, .infinities = 0, .nans = 2};
  const profiling::Table table =
      app::plot::bins_table("series", {{"before", &bins}}, app::plot::kLog2Edges);
  EXPECT_EQ(profiling::csv_text(table),
            "series,from_log2,to_log2,count\r\nbefore,0,1,5\r\nbefore,2,4,12345\r\n"
            "before,zeros,,7\r\nbefore,nans,,2\r\n");
  EXPECT_THAT(profiling::csv_text(
                  app::plot::bins_table("side", {{"A", &bins}}, app::plot::kTimeEdges, "percent")),
              HasSubstr("side,from_ns,to_ns,percent\r\nA,0,1,5\r\n"));
  EXPECT_THAT(app::plot::tabbed_text(table), HasSubstr("before\t2.000\t4.000\t12 345\n"));
}

TEST(WholeBins, AreThoseWhoseCentreLiesInTheRange) {
  const app::plot::Bins bins{.edges = {0, 1, 2, 4}, .counts = {5, 7, 11}};
  EXPECT_EQ(bins.whole_bins({0.6, 3.1}), (app::plot::Range{1, 4}));
  EXPECT_EQ(bins.counted({0.6, 3.1}), 18);
  EXPECT_EQ(bins.whole_bins({0.0, 4.0}), (app::plot::Range{0, 4}));
  EXPECT_EQ(bins.counted({0.0, 4.0}), bins.total());
  EXPECT_TRUE(bins.whole_bins({0.6, 1.4}).empty());
  EXPECT_EQ(bins.counted({0.6, 1.4}), 0);
  EXPECT_TRUE(app::plot::Bins{}.whole_bins({0, 1}).empty());
}

TEST(LaneOrder, GroupsOfSeveralLanesHaveHeadingsThatCollapseThem) {
  const std::vector<std::string> labels = {"stream 0", "stages", "overhead", "memory"};
  const std::vector<std::string> groups = {"streams", "host", "host", "host"};
  app::plot::LaneOrder order;
  const auto text = [&] {
    std::string all;
    for (const app::plot::LaneLine& line : order.lines(labels, groups)) {
      all += line.heading ? "[" + line.group + (line.collapsed ? " +" : " -") +
                                std::to_string(line.lanes) + "] "
                          : labels[line.lane] + " ";
    }
    return all;
  };
  EXPECT_EQ(text(), "stream 0 [host -3] stages overhead memory ");
  order.toggle_group("host");
  EXPECT_EQ(text(), "stream 0 [host +3] ");
  // A pinned lane stays in sight.
  order.toggle_pin("memory");
  EXPECT_EQ(text(), "memory stream 0 [host +2] ");
  // One lane alone has no heading, so it could not be opened again.
  order.hide("overhead");
  EXPECT_EQ(text(), "memory stream 0 stages ");
  order.show_all();
  order.toggle_pin("memory");
  const std::vector<std::string> all = {"host", "others"};
  order.toggle_groups(all);
  EXPECT_TRUE(order.collapsed("host") && order.collapsed("others"));
  order.toggle_groups(all);
  EXPECT_EQ(text(), "stream 0 [host -3] stages overhead memory ");
}

TEST(LaneOrder, ALaneIsRevealedWhereverItIsHidden) {
  const std::vector<std::string> labels = {"stream 0", "stages", "overhead"};
  const std::vector<std::string> groups = {"streams", "host", "host"};
  app::plot::LaneOrder order;
  order.toggle_group("host");
  order.hide("overhead");
  order.reveal("overhead", "host");
  EXPECT_FALSE(order.collapsed("host"));
  EXPECT_THAT(order.shown(labels), ElementsAre(0, 1, 2));
  // Above the groups it is seen anyway.
  order.toggle_pin("stages");
  order.toggle_group("host");
  order.hide("stages");
  order.reveal("stages", "host");
  EXPECT_TRUE(order.collapsed("host"));
  EXPECT_THAT(order.shown(labels), ElementsAre(1, 0, 2));
}

TEST(LaneOrder, PutsPinnedFirstHidesAndKeepsOne) {
  app::plot::LaneOrder order;
  const std::vector<std::string> labels = {"stream 0", "stream 7", "thread 1"};
  EXPECT_THAT(order.shown(labels), ElementsAre(0, 1, 2));
  order.toggle_pin("thread 1");
  order.toggle_pin("stream 7");
  EXPECT_THAT(order.shown(labels), ElementsAre(2, 1, 0));
  order.hide("thread 1");
  EXPECT_THAT(order.shown(labels), ElementsAre(1, 0));
  order.hide("stream 0");
  order.hide("stream 7");
  EXPECT_THAT(order.shown(labels), ElementsAre(0)) << "one stays, or nothing could be shown again";
  order.show_all();
  order.toggle_pin("stream 7");
  EXPECT_THAT(order.shown(labels), ElementsAre(2, 0, 1));
  EXPECT_THAT(order.shown({}), ElementsAre());
}

TEST(SnappedToBins, TakesQuartersOfPowersOfTwo) {
  // Four bins between 1 and 2, at 1.25, 1.5 and 1.75.
  const app::plot::Range snapped = app::snapped_to_bins({0.1, 0.7});
  EXPECT_THAT(snapped.min, DoubleNear(0.0, 1e-12));
  EXPECT_THAT(snapped.max, DoubleNear(std::log2(1.75), 1e-12));
  EXPECT_TRUE(app::snapped_to_bins({0.17, 0.2}).empty());
  EXPECT_TRUE(app::snapped_to_bins({200, 300}).empty());
}

TEST(SelectionTable, HasCountsAndWholeEdges) {
  const app::ValueSelection selection{.asked = {0.1, 0.7},
                                      .snapped = {0.0, 1.0},
                                      .series = {{.name = "before", .count = 3, .total = 12}},
                                      .scales_of_experts = {4}};
  EXPECT_EQ(
      profiling::csv_text(app::selection_table(selection)),
      "series,from_log2,to_log2,count,of\r\nbefore,0,1,3,12\r\nscales of expert 0,0,1,4,\r\n");
}

TEST(RowLines, SayWhatTheRowSaysExceptItsName) {
  using profiling::Measure;
  std::vector<profiling::Row> rows(2);
  rows[0].cells = profiling::cells_of("fprop", 1.0, 2.0, "no", 7);
  rows[1].cells = profiling::cells_of("dgrad", 2500.0, profiling::Cell(), "yes", 8);
  const profiling::Table table = profiling::table_of(
      "t",
      {profiling::column("stage"), profiling::column("median_ns", Measure::Time, "median"),
       profiling::column("empty", Measure::Number), profiling::column("slow"),
       profiling::for_files("id", Measure::Count)},
      rows);
  const std::vector<app::plot::ReadOutLine> lines =
      app::plot::row_lines(table, 1, app::Palette{}, {{"median_ns", 6U}, {"slow", 5U}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].label + "=" + lines[0].value, "median=2.500 \u00b5s");
  EXPECT_EQ(lines[0].exact, 2500.0);  // what is copied
  EXPECT_EQ(lines[0].color, 6U);      // by the key, not by the heading
  EXPECT_EQ(lines[1].label + "=" + lines[1].value, "slow=yes");
  EXPECT_EQ(lines[1].color, 5U);
  EXPECT_TRUE(app::plot::row_lines(table, 2, app::Palette{}).empty());
}

/// Delayed scaling over two steps of two experts; the second has no rows in the first step. Another
/// recipe beside it.
std::shared_ptr<const profiling::RecordedComparison> small_series() {
  auto recorded = std::make_shared<profiling::RecordedComparison>();
  engine::RecipeComparison& comparison = recorded->comparison;
  comparison.request.series = {.steps = 2};
  comparison.request.recipes = {{.scaling = engine::Scaling::PerTensorCurrent},
                                {.scaling = engine::Scaling::PerTensorDelayed}};
  const std::vector<engine::ExpertQuantization> delayed[] = {
      {{.rows = 3, .snr_db = 30.0, .delayed = engine::DelayedScale{2.0F, 0.0F, 1.0F, 224.0F}},
       {.snr_db = std::numeric_limits<double>::quiet_NaN(),
        .delayed = engine::DelayedScale{0.0F, 0.0F, 1.0F, kNone}}},
      {{.rows = 3,
        .snr_db = 12.0,
        .saturated = 5,
        .delayed = engine::DelayedScale{8.0F, 2.0F, 224.0F, 56.0F}},
       {.rows = 4, .snr_db = 25.0, .delayed = engine::DelayedScale{1.0F, 0.0F, 1.0F, 448.0F}}}};
  const std::vector<float> histories[] = {{2.0F, 0.0F, 0.0F, 0.0F}, {8.0F, 1.0F, 2.0F, 0.0F}};
  for (int step = 0; step < 2; ++step) {
    engine::QuantizationReport current{.recipe = comparison.request.recipes[0]};
    current.step = step;
    current.experts = {{.rows = 3, .snr_db = 31.0 + step}, {.rows = 4, .snr_db = 32.0}};
    comparison.reports.push_back(current);
    engine::QuantizationReport report{.recipe = comparison.request.recipes[1]};
    report.step = step;
    report.experts = delayed[step];
    report.history = histories[step];
    comparison.reports.push_back(report);
  }
  return recorded;
}

TEST(RecipeStepsModel, TakesExpertsOutOfStepsAndRecipes) {
  app::RecipeStepsModel model;
  ASSERT_TRUE(app::has_delayed_steps(small_series()->comparison));
  model.set(small_series());
  const engine::ExpertQuantization stale = model.at(1, 0);
  EXPECT_EQ(stale.rows, 3);
  EXPECT_EQ(stale.delayed->scale_used, 224.0F);
  EXPECT_EQ(stale.delayed->scale_wanted, 56.0F);
  EXPECT_EQ(stale.saturated, 5U);
  EXPECT_THAT(model.at(0, 1).snr_db, IsNan());
  EXPECT_THAT(model.log2_of(&engine::DelayedScale::amax, 0), ElementsAre(1.0, 3.0));
  EXPECT_THAT(model.log2_of(&engine::DelayedScale::amax, 1), ElementsAre(IsNan(), 0.0));
  EXPECT_THAT(model.log2_of(&engine::DelayedScale::scale_wanted, 1),
              ElementsAre(IsNan(), DoubleNear(std::log2(448.0), 1e-9)));
  EXPECT_THAT(model.history(1, 0), ElementsAre(8.0, 2.0));
  EXPECT_THAT(model.history(1, 1), ElementsAre(1.0, 0.0));
  EXPECT_THAT(model.snr().values, ElementsAre(30.0F, 12.0F, IsNan(), 25.0F));
  ASSERT_EQ(model.others(1, 0).size(), 1U);
  EXPECT_EQ(model.others(1, 0).front().quantization->snr_db, 32.0);
}

TEST(RecipeStepsModel, AsksAgainOnlyForRelevantChanges) {
  const app::RecipeStepsSettings settings;
  engine::RunRequest rail;
  const engine::ComparisonRequest before = app::series_order(settings, rail);
  rail.launch.iterations += 5;
  rail.layers += 1;
  EXPECT_EQ(app::series_order(settings, rail), before);
  rail.seed += 1;
  EXPECT_NE(app::series_order(settings, rail), before);
}

}  // namespace
