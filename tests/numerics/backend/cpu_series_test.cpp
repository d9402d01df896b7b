// Comparisons over steps on the CPU: a recipe without a history does at every step what a
// comparison of that step alone does. tests/numerics/quantize/oracle/test_history.py has those with
// one.
#include <gtest/gtest.h>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/recipe_series.h"
#include "engine/model/recipe_traits.h"

namespace engine {
namespace {

ComparisonRequest small() {
  ComparisonRequest request;
  request.request.shape = {.preset = "", .num_experts = 3, .rows = 300, .n = 144, .k = 272};
  request.request.routing.distribution = RoutingDistribution::Zipf;
  request.recipes = default_comparison();
  request.timed_launches = 0;
  return request;
}

TEST(CpuSeries, EveryStepIsTheComparisonOfThatStepAlone) {
  constexpr int kSteps = 3;
  ComparisonRequest request = small();
  request.series = {.steps = kSteps};
  RunProgress progress;
  StepObserver observer;
  const auto series = compare_over_steps(request, progress);
  ASSERT_TRUE(series.ok()) << series.error().message;
  const std::size_t recipes = request.recipes.size();
  ASSERT_EQ(series.value().reports.size(), kSteps * recipes);
  const std::unique_ptr<Backend> backend = make_cpu_backend();
  int compared = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    ComparisonRequest alone = small();
    alone.request.seed += step;
    const auto once = backend->compare(alone, {.progress = progress, .observer = observer});
    ASSERT_TRUE(once.ok()) << once.error().message;
    for (std::size_t i = 0; i < recipes; ++i) {
      const QuantizationReport& stepped = series.value().reports[step * recipes + i];
      const QuantizationReport& report = once.value().reports[2 * i];  // rowwise before columnwise
      ASSERT_EQ(stepped.recipe, report.recipe);
      ASSERT_EQ(stepped.experts.size(), 3U);
      if (traits_of(report.recipe).remembers_amax()) {
        EXPECT_TRUE(stepped.experts[0].delayed.has_value());
        continue;
      }
      for (std::size_t expert = 0; expert < stepped.experts.size(); ++expert) {
        const ExpertQuantization& a = stepped.experts[expert];
        const ExpertQuantization& b = report.experts[expert];
        EXPECT_EQ(a.rows, b.rows);
        EXPECT_EQ(a.saturated, b.saturated);
        EXPECT_EQ(a.underflowed, b.underflowed);
        EXPECT_NEAR(a.snr_db, b.snr_db, 1e-9);
        EXPECT_FALSE(a.delayed.has_value());
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 3 * kSteps * 4);
}

TEST(CpuSeries, EndsWhenCancelled) {
  RunProgress progress;
  progress.cancel = true;
  const auto cancelled = compare_over_steps(default_series(small().request), progress);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
}

/// X alone is quantized, so its rows need not be whole tokens.
TEST(CpuSeries, TheDefaultIsValidForAnyNumberOfExpertsPerToken) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 6;
  request.shape.rows = 6144;
  ASSERT_TRUE(validate(request).ok());
  const Status status = validate(default_series(request));
  EXPECT_TRUE(status.ok()) << status.error().message;
}

}  // namespace
}  // namespace engine
