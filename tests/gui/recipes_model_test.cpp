// What the Recipes view derives from a hand-made comparison: rows, overlays, positions, arithmetic.
#include "app/gui/panels/recipes_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/gui/panels/numerics_model.h"
#include "app/gui/plot/iteration_words.h"
#include "app/plot/scale_maps.h"
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

/// The cell under this title of a drawn table.
const app::plot::Cell& at(const app::plot::DrawnTable& table, std::size_t row,
                          std::string_view title) {
  static const app::plot::Cell kNone{.text = "no such column"};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].title == title) return table.rows.at(row).cells.at(i);
  }
  ADD_FAILURE() << "no column " << title;
  return kNone;
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
  const app::plot::DrawnTable& table = model_.table();
  ASSERT_EQ(table.rows.size(), 5U);
  EXPECT_EQ(at(table, 0, "SNR, dB").key, 20.0);
  EXPECT_THAT(at(table, 0, "SNR lost, dB").key, IsNan())
      << "nothing is chosen that it could be compared with";
  EXPECT_EQ(at(table, 0, "typical, dB").key, 25.0);
  EXPECT_EQ(at(table, 0, "underflow").key, 10.0);
  EXPECT_EQ(at(table, 0, "underflow").text, "1.00 %");
  EXPECT_EQ(at(table, 0, "wasted, binades").key, 0.5);
  EXPECT_EQ(at(table, 0, "worst").text, "0.900");
  EXPECT_EQ(at(table, 0, "bits/elem.").key, 9.0);
  EXPECT_EQ(at(table, 0, "median").key, 200.0);
  // 3000 B in 200 ns against 4000 B in 100 ns.
  EXPECT_DOUBLE_EQ(at(table, 0, "of copy").key, 0.375);
  EXPECT_EQ(at(table, 0, "of copy").text, "37.5 %");
  model_.set(model_.recorded(), true, theme_);
  EXPECT_EQ(model_.table().rows.size(), 1U);
}

TEST_F(RecipesModelTest, WhereAllIsLostNothingIsCalledRight) {
  profiling::RecordedComparison recorded = *model_.recorded();
  engine::QuantizationReport& report = recorded.comparison.reports.front();
  report.statistics.lost = report.statistics.elements - 1;
  report.statistics.undefined = 1;
  report.max_relative_error = std::numeric_limits<double>::quiet_NaN();
  report.max_ulp = 0;
  model_.set(std::make_shared<const profiling::RecordedComparison>(recorded), false, theme_);
  EXPECT_EQ(at(model_.table(), 0, "max. steps off").text, "–");
  EXPECT_EQ(at(model_.table(), 0, "lost").key, 999.0);
  EXPECT_THAT(model_.table().rows[0].tooltip, HasSubstr("largest relative error n/a"));
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
  EXPECT_THAT(at(model_.table(), 4, "recipe").text,
              HasSubstr("FP8 delayed, power-of-two scales: Not here, take another"));
  EXPECT_TRUE(std::isnan(at(model_.table(), 4, "SNR, dB").key));
  model_.choose({4, 0}, theme_);
  ASSERT_EQ(model_.overlays().size(), 1U);
  EXPECT_EQ(model_.overlays()[0].row, 0);
}

TEST_F(RecipesModelTest, AtMostThreeAreOverlaid) {
  EXPECT_THAT(model_.first_choice(), ElementsAre(1, 2, 3));
  model_.choose({0, 1, 2, 3}, theme_);
  ASSERT_EQ(model_.overlays().size(), 3U);
  EXPECT_NE(model_.overlays()[0].color, model_.overlays()[1].color);
  EXPECT_EQ(model_.table().rows[1].chip, model_.overlays()[1].color);
  EXPECT_EQ(model_.table().rows[3].chip, 0U);
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
  EXPECT_EQ(at(model_.table(), 1, "SNR lost, dB").key, 0.0);
  EXPECT_EQ(at(model_.table(), 0, "SNR lost, dB").key, 10.0);
  EXPECT_EQ(at(model_.table(), 2, "SNR lost, dB").key, 1.0) << "of those that are not chosen too";
  EXPECT_EQ(at(model_.table(), 4, "SNR lost, dB").text, "–") << "a refused one";
  model_.choose({}, theme_);
  EXPECT_EQ(at(model_.table(), 0, "SNR lost, dB").text, "n/a");
}

TEST_F(RecipesModelTest, ExpertsHaveABarAndARowOfEveryChosenRecipe) {
  EXPECT_TRUE(model_.experts().table.rows.empty());
  model_.choose({1, 0}, theme_);
  const app::RecipeExperts& experts = model_.experts();
  ASSERT_EQ(experts.table.rows.size(), 6U);
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
  EXPECT_EQ(at(experts.table, 5, "recipe").text, model_.overlays()[1].name);
  EXPECT_EQ(at(experts.table, 5, "exp.").key, 2.0);
  EXPECT_EQ(at(experts.table, 5, "rows").key, 2.0);
  EXPECT_EQ(at(experts.table, 5, "SNR, dB").text, "19.0*") << "two elements are left out";
  EXPECT_EQ(at(experts.table, 5, "SNR lost, dB").text, "10.00");
  EXPECT_EQ(at(experts.table, 5, "wasted, binades").text, "–");
  EXPECT_EQ(at(experts.table, 5, "saturated").key, 3.0);
  EXPECT_EQ(at(experts.table, 2, "SNR lost, dB").text, "n/a");
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
  EXPECT_EQ(at(model.table(), 1, "SNR lost, dB").key, 0.0);
  EXPECT_EQ(at(model.table(), 4, "SNR lost, dB").text, "n/a");
}

TEST(RecipeNames, SayWhichScalesAndWhichHighPrecision) {
  engine::Recipe recipe{.scaling = engine::Scaling::Block, .pow2_scales = false};
  EXPECT_EQ(engine::recipe_name(recipe, false), "FP8 block, FP32 scales");
  EXPECT_THAT(app::recipe_text(recipe), testing::HasSubstr("FP8 block, 1x128"));
  EXPECT_THAT(app::recipe_text(recipe), testing::EndsWith("FP32 scales"));
  recipe.scaling = engine::Scaling::None;
  EXPECT_EQ(app::recipe_text(recipe), "BF16, not quantized");
  recipe.high_precision = engine::ElementType::Fp16;
  EXPECT_EQ(engine::recipe_name(recipe, false), "FP16");
  EXPECT_EQ(app::recipe_text(recipe), "FP16, not quantized");
}

TEST(IterationNumber, ReplaysCountFromOneEverywhere) {
  EXPECT_STREQ(app::iteration_noun(true), "replay");
  EXPECT_EQ(app::shown_iteration(true, 6), "7");
  EXPECT_EQ(app::shown_iteration(false, 6), "6");
  EXPECT_EQ(app::shown_iteration(true, -1), "none: set-up or check");
}

TEST(BinadesText, NeverShowsAMinusZero) {
  const engine::RangeWaste waste{.scales = 1};
  EXPECT_EQ(engine::binades_text(waste, -5e-9), "0.000");
  EXPECT_EQ(engine::binades_text(waste, -0.25), "-0.250");
  EXPECT_EQ(engine::binades_text({}, 0.25), "n/a");
}

TEST_F(RecipesModelTest, CsvKeepsFullNumbersAndTextWholeNames) {
  const std::string csv = model_.table().csv({1, 0, 2, 3, 4});
  EXPECT_THAT(csv, HasSubstr(",snr_db,snr_lost_db,median_block_snr_db,"));
  EXPECT_THAT(csv.substr(csv.find("\r\n")), HasSubstr(",1000,30,,35,0,1,0,10,0,0,0.5,0.9,9,"))
      << "the order on screen";
  EXPECT_LT(csv.find(",1000,30,"), csv.find(",1000,20,"));
  const std::string text = model_.table().text({});
  EXPECT_THAT(text, HasSubstr("recipe\tSNR\tSNR lost\ttypical\tmax. steps off\t"));
  EXPECT_THAT(text, HasSubstr("\nFP8 block, power-of-two scales\t30.0 dB\tn/a\t35.0 dB\t"));
}

TEST(ComparisonOrderTest, OnlyRelevantChangesAskAgain) {
  engine::RunRequest request;
  const engine::ComparisonRequest order = app::comparison_order(request, false);
  EXPECT_EQ(order.recipes.size(), 8U);
  EXPECT_TRUE(engine::validate(order).ok());
  request.launch.iterations = 77;
  request.recipe.scaling = Scaling::None;
  request.layers = 4;
  EXPECT_EQ(app::comparison_order(request, false), order);
  request.recipe.hadamard = !request.recipe.hadamard;
  EXPECT_NE(app::comparison_order(request, false), order);
}

TEST(ComparisonOrderTest, TheWorkersChoiceOfBackendStillAnswers) {
  engine::RunRequest request;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  const engine::ComparisonRequest order = app::comparison_order(request, true, {3, 4});
  engine::ComparisonRequest done = order;
  done.request.backend = engine::GemmBackend::CpuReference;
  EXPECT_TRUE(app::answers(done, order));
  done.sample_row = 5;
  EXPECT_FALSE(app::answers(done, order));
}

}  // namespace
