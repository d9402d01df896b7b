// What the Recipes view derives from a hand-made comparison: rows, overlays, positions, arithmetic.
#include "app/gui/panels/recipes_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/gui/panels/scale_maps.h"
#include "engine/model/recipe_words.h"

namespace {

using app::RecipesModel;
using engine::Scaling;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

engine::QuantizationReport report_of(Scaling scaling, bool columnwise, double snr_db) {
  engine::QuantizationReport report;
  report.recipe.scaling = scaling;
  report.columnwise = columnwise;
  report.statistics.elements = 1000;
  report.statistics.underflowed = 10;
  report.statistics.snr_db = snr_db;
  report.statistics.scale_map = {.block_rows = 1,
                                 .block_columns = 128,
                                 .source_rows = 6,
                                 .source_columns = 1,
                                 .rows = 6,
                                 .columns = 1,
                                 .mean = std::vector<float>(6, 0.0F),
                                 .maximum = {1, 2, 3, 4, 5, static_cast<float>(snr_db)},
                                 .expert_first_row = {0, 4, 4, 6}};
  report.statistics.median_block_snr_db = snr_db + 5.0;
  report.max_ulp = 1;
  report.code_counts.assign(scaling == Scaling::Nvfp4 ? 16 : 256, 0);
  report.code_counts[3] = 7;
  report.sample = {.row = 2,
                   .column = 4,
                   .rows = 1,
                   .columns = 2,
                   .original = {0.75F, 0.0F},
                   .codes = {0x3D, 0x00},
                   .scale_inv = {0.5F, 0.5F},
                   .decoded = {0.8125F, 0.0F}};
  report.code_bytes = 1000;
  report.scale_bytes = 125;
  report.moved_bytes = 3000;
  report.times_ns = {300, 100, 200};
  report.waste = {.scales = 8, .mean = 0.5, .max = 0.9};
  report.experts = {{.rows = 4, .snr_db = snr_db, .waste = report.waste},
                    {.rows = 0, .snr_db = std::numeric_limits<double>::quiet_NaN()},
                    {.rows = 2, .snr_db = snr_db - 1.0, .saturated = 3, .lost = 2}};
  return report;
}

class RecipesModelTest : public testing::Test {
 protected:
  RecipesModelTest() {
    theme_.colors = app::palette(app::ThemeKind::Dark);
    profiling::RecordedComparison recorded;
    engine::RecipeComparison& comparison = recorded.comparison;
    comparison.request.request.shape = {
        .preset = "", .num_experts = 3, .rows = 6, .n = 16, .k = 128};
    comparison.splits = {4, 0, 2};
    comparison.copy_times_ns = {100};
    comparison.copy_bytes = 4000;
    comparison.reports = {report_of(Scaling::PerTensorCurrent, false, 20),
                          report_of(Scaling::Block, false, 30), report_of(Scaling::Block, true, 31),
                          report_of(Scaling::Mxfp8, false, 29),
                          report_of(Scaling::Nvfp4, false, 15)};
    comparison.reports.push_back(
        {.recipe = {.scaling = Scaling::PerTensorDelayed}, .refused = "Not here, take another"});
    model_.set(std::make_shared<const profiling::RecordedComparison>(recorded), false, theme_);
  }

  app::Theme theme_;
  RecipesModel model_;
};

TEST_F(RecipesModelTest, OneRowPerRecipeOfTheDirection) {
  ASSERT_EQ(model_.rows().size(), 5U);
  const app::plot::TableRow& row = model_.rows()[0];
  ASSERT_EQ(row.cells.size(), app::recipe_columns().size());
  EXPECT_EQ(row.cells[1].key, 20.0);
  EXPECT_THAT(row.cells[2].key, IsNan()) << "nothing is chosen that it could be compared with";
  EXPECT_EQ(row.cells[3].key, 25.0);
  EXPECT_EQ(row.cells[5].key, 0.01);
  EXPECT_EQ(row.cells[8].key, 0.5);
  EXPECT_EQ(row.cells[9].text, "0.900");
  EXPECT_EQ(row.cells[10].key, 9.0);
  EXPECT_EQ(row.cells[11].key, 200.0);
  // 3000 B in 200 ns against 4000 B in 100 ns.
  EXPECT_DOUBLE_EQ(row.cells[12].key, 0.375);
  EXPECT_EQ(row.cells[12].text, "38 %");
  model_.set(model_.recorded(), true, theme_);
  EXPECT_EQ(model_.rows().size(), 1U);
}

TEST_F(RecipesModelTest, WhereAllIsLostNothingIsCalledRight) {
  profiling::RecordedComparison recorded = *model_.recorded();
  engine::QuantizationReport& report = recorded.comparison.reports.front();
  report.statistics.lost = report.statistics.elements - 1;
  report.statistics.undefined = 1;
  report.max_relative_error = std::numeric_limits<double>::quiet_NaN();
  report.max_ulp = 0;
  model_.set(std::make_shared<const profiling::RecordedComparison>(recorded), false, theme_);
  const app::plot::TableRow& row = model_.rows()[0];
  EXPECT_EQ(row.cells[4].text, "n/a") << "misrounded";
  EXPECT_EQ(app::recipe_columns()[7].title, "lost");
  EXPECT_GT(row.cells[7].key, 0.9);
  EXPECT_THAT(row.tooltip, HasSubstr("largest relative error n/a"));
}

TEST(ScaleMaps, ScalesThatAreNotFiniteAreNoEmptyOperand) {
  engine::OperandStatistics operand;
  EXPECT_THAT(app::no_scales_text(operand, "map"), HasSubstr("is empty"));
  operand.scale.infinities = 60;
  operand.scale.zeros = 4;
  EXPECT_EQ(app::no_scales_text(operand, "map"),
            "It has 64 scales, none of them finite and above 0, so there is no map.");
}

TEST_F(RecipesModelTest, RefusedRowKeepsItsSentenceAndIsNotOverlaid) {
  const app::plot::TableRow& row = model_.rows()[4];
  EXPECT_THAT(row.cells[0].text,
              HasSubstr("FP8 delayed, power-of-two scales: Not here, take another"));
  ASSERT_EQ(row.cells.size(), app::recipe_columns().size());
  EXPECT_TRUE(std::isnan(row.cells[1].key));
  model_.choose({4, 0}, theme_);
  ASSERT_EQ(model_.overlays().size(), 1U);
  EXPECT_EQ(model_.overlays()[0].row, 0);
}

TEST_F(RecipesModelTest, AtMostThreeAreOverlaid) {
  EXPECT_THAT(model_.first_choice(), ElementsAre(1, 2, 3));
  model_.choose({0, 1, 2, 3}, theme_);
  ASSERT_EQ(model_.overlays().size(), 3U);
  EXPECT_NE(model_.overlays()[0].color, model_.overlays()[1].color);
  EXPECT_EQ(model_.rows()[1].chip, model_.overlays()[1].color);
  EXPECT_EQ(model_.rows()[3].chip, 0U);
}

TEST_F(RecipesModelTest, MapsShareOneColourScale) {
  model_.choose({0, 3}, theme_);
  EXPECT_EQ(model_.map_colors().min, 1.0);
  EXPECT_EQ(model_.map_colors().max, 20.0);
}

TEST_F(RecipesModelTest, FourBitCodesSpanTheSameAxis) {
  model_.choose({3, 1}, theme_);
  ASSERT_EQ(model_.overlays().size(), 2U);
  const app::RecipeOverlay& four_bits = model_.overlays()[0];
  EXPECT_EQ(four_bits.codes.edges.size(), 17U);
  EXPECT_EQ(four_bits.codes.edges.back(), 256.0);
  EXPECT_EQ(four_bits.codes_used, 1);
  EXPECT_EQ(model_.overlays()[1].codes.edges.size(), 257U);
}

TEST_F(RecipesModelTest, PlaceOnTheMapIsARowOfTheOperand) {
  const engine::ScaleMap& map = model_.reports()[0]->statistics.scale_map;
  EXPECT_EQ(model_.operand_row(map, 0.0), 0);
  EXPECT_EQ(model_.operand_row(map, 3.9), 3);
  EXPECT_EQ(model_.operand_row(map, 4.0), 4);
  EXPECT_EQ(model_.operand_row(map, 5.5), 5);
  engine::ScaleMap padded = map;
  // Columnwise blocks of 128 rows: an expert of 4 rows still has its own block.
  padded.block_rows = 128;
  padded.expert_first_row = {0, 1, 1, 2};
  EXPECT_EQ(model_.operand_row(padded, 1.5), 4);
}

TEST_F(RecipesModelTest, ArithmeticOfAnElement) {
  model_.choose({1}, theme_);
  const app::ElementReading reading = app::read_element(model_.overlays()[0], 0, 0);
  EXPECT_EQ(reading.original, "0.75");
  EXPECT_EQ(reading.code, "0x3D   0 0111 101");
  EXPECT_EQ(reading.value, "+1.625 x 2^0 = 1.625");
  EXPECT_EQ(reading.decoded, "1.625 x 0.5 = 0.8125");
  EXPECT_EQ(reading.error, "error +0.0625 (+8.33 %, 1.00 ulp)");
  EXPECT_EQ(app::read_element(model_.overlays()[0], 0, 1).error, "error +0");
  EXPECT_EQ(app::read_element(model_.overlays()[0], 1, 0).code, "");
}

TEST_F(RecipesModelTest, TransformedCodesShowHowTheElementIsRecovered) {
  engine::QuantizationReport report = report_of(Scaling::Nvfp4, true, 15);
  report.sample.codes = {0x1, 0x0};
  app::RecipeOverlay overlay;
  overlay.report = &report;
  overlay.format = app::code_format(report.recipe, engine::OperandRole::Activations);
  overlay.transformed = true;
  EXPECT_EQ(app::read_element(overlay, 0, 0).decoded, "0.5 x 0.5 = 0.25, Hadamard undone 0.8125");
  overlay.transformed = false;
  EXPECT_EQ(app::read_element(overlay, 0, 0).decoded, "0.5 x 0.5 = 0.25");
}

TEST_F(RecipesModelTest, TheFirstChoiceIsWhatTheOthersLoseAgainst) {
  model_.choose({1, 0}, theme_);
  EXPECT_EQ(model_.rows()[1].cells[2].key, 0.0);
  EXPECT_EQ(model_.rows()[0].cells[2].key, 10.0);
  EXPECT_EQ(model_.rows()[2].cells[2].key, 1.0) << "of those that are not chosen too";
  EXPECT_EQ(model_.rows()[4].cells[2].text, "") << "a refused one";
  model_.choose({}, theme_);
  EXPECT_EQ(model_.rows()[0].cells[2].text, "n/a");
}

TEST_F(RecipesModelTest, ExpertsHaveABarAndARowOfEveryChosenRecipe) {
  EXPECT_TRUE(model_.experts().rows.empty());
  model_.choose({1, 0}, theme_);
  const app::RecipeExperts& experts = model_.experts();
  ASSERT_EQ(experts.rows.size(), 6U);
  ASSERT_EQ(experts.snr.size(), 6U);
  ASSERT_EQ(experts.waste.size(), 6U);
  EXPECT_EQ(experts.snr[0].value, 30.0);
  EXPECT_EQ(experts.snr[1].value, 20.0);
  EXPECT_EQ(experts.snr[0].color, model_.overlays()[0].color);
  EXPECT_EQ(experts.snr[1].color, model_.overlays()[1].color);
  EXPECT_THAT(experts.snr[2].value, IsNan()) << "an expert without rows has no SNR";
  EXPECT_EQ(experts.lost[0].value, 0.0);
  EXPECT_EQ(experts.lost[1].value, 10.0);
  EXPECT_THAT(experts.lost[3].value, IsNan());
  EXPECT_EQ(experts.waste[0].value, 0.5);
  EXPECT_EQ(experts.waste[0].high, 0.9);
  EXPECT_THAT(experts.waste[4].value, IsNan()) << "no scale counts";
  const std::vector<app::plot::Cell>& worse = experts.rows[5].cells;
  ASSERT_EQ(worse.size(), app::recipe_expert_columns().size());
  EXPECT_EQ(worse[0].text, model_.overlays()[1].name);
  EXPECT_EQ(worse[1].key, 2.0);
  EXPECT_EQ(worse[2].key, 2.0);
  EXPECT_EQ(worse[3].text, "19.0*") << "two elements are left out";
  EXPECT_EQ(worse[4].text, "10.00");
  EXPECT_EQ(worse[5].text, "n/a");
  EXPECT_EQ(worse[8].key, 3.0);
  EXPECT_EQ(experts.rows[2].cells[4].text, "n/a");
}

TEST(ScalePairs, AreRowsOfOneScalingWithBothKindsOfScale) {
  profiling::RecordedComparison recorded;
  for (const engine::Recipe& recipe : engine::default_comparison()) {
    engine::QuantizationReport report = report_of(recipe.scaling, false, 30.0);
    report.recipe = recipe;
    recorded.comparison.reports.push_back(report);
  }
  // Two exact matches do not differ; an exact one and another differ by more than a number.
  for (const std::size_t exact : {0, 1}) {
    recorded.comparison.reports[exact].statistics.snr_db = INFINITY;
  }
  recorded.comparison.reports[2].refused = "Not here";
  app::Theme theme;
  theme.colors = app::palette(app::ThemeKind::Dark);
  RecipesModel model;
  model.set(std::make_shared<const profiling::RecordedComparison>(recorded), false, theme);
  EXPECT_THAT(model.scale_pairs(), ElementsAre(app::ScalePair{"FP8 tensor", {0, 1}},
                                               app::ScalePair{"FP8 block", {4, 5}}));
  model.choose(model.scale_pairs()[0].rows, theme);
  EXPECT_EQ(model.rows()[1].cells[2].key, 0.0);
  EXPECT_EQ(model.rows()[4].cells[2].text, "n/a");
}

TEST(BinadesText, NeverShowsAMinusZero) {
  const engine::RangeWaste waste{.scales = 1};
  EXPECT_EQ(engine::binades_text(waste, -5e-9), "0.000");
  EXPECT_EQ(engine::binades_text(waste, -0.25), "-0.250");
  EXPECT_EQ(engine::binades_text({}, 0.25), "n/a");
}

TEST_F(RecipesModelTest, CsvKeepsFullNumbers) {
  const std::string csv = app::plot::table_csv(app::recipe_columns(), model_.rows());
  EXPECT_THAT(csv, HasSubstr("\"recipe\",\"SNR dB\""));
  EXPECT_THAT(
      csv,
      HasSubstr("\"FP8 block, power-of-two scales\",30,nan,35,1,0.01,0,0,0.5,0.9,9,200,0.375"));
}

TEST(ComparisonOrderTest, OnlyRelevantChangesAskAgain) {
  engine::RunRequest request;
  const engine::ComparisonRequest order = app::comparison_order(request, false, 0, 0);
  EXPECT_EQ(order.recipes.size(), 8U);
  EXPECT_TRUE(engine::validate(order).ok());
  request.launch.iterations = 77;
  request.recipe.scaling = Scaling::None;
  request.layers = 4;
  EXPECT_EQ(app::comparison_order(request, false, 0, 0), order);
  request.recipe.hadamard = !request.recipe.hadamard;
  EXPECT_NE(app::comparison_order(request, false, 0, 0), order);
}

TEST(ComparisonOrderTest, TheWorkersChoiceOfBackendStillAnswers) {
  engine::RunRequest request;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  const engine::ComparisonRequest order = app::comparison_order(request, true, 3, 4);
  engine::ComparisonRequest done = order;
  done.request.backend = engine::GemmBackend::CpuReference;
  EXPECT_TRUE(app::answers(done, order));
  done.sample_row = 5;
  EXPECT_FALSE(app::answers(done, order));
}

}  // namespace
