// Operands too large to keep are read expert by expert: the same numbers, by the same code, with
// the reading time reported separately.
#include <gtest/gtest.h>

#include "engine/backend/cpu/cpu_linear_step.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/input/routing.h"

namespace engine {
namespace {

class ReadingObserver : public StepObserver {
 public:
  void span(const WorkTag& tag, const char*, int, std::int64_t, std::int64_t) override {
    reads += tag.stage == Stage::Memory ? 1 : 0;
  }
  int reads = 0;
};

struct Measured {
  RunResult result;
  std::int64_t reading_ns = 0;
  int reads = 0;
};

Measured measure(const RunRequest& request, bool keep) {
  const GroupedShape shape = resolve_shape(request).value();
  LoadedOperands operands = load_operands(request, keep).value();
  StepBuffers buffers;
  RunProgress progress;
  ReadingObserver observer;
  StepProgress units(progress);
  CpuLinearStep step({.request = request,
                      .shape = shape,
                      .operands = operands,
                      .buffers = buffers,
                      .context = {progress, observer}},
                     units);
  Measured measured;
  EXPECT_TRUE(step.measure_statistics(measured.result).ok());
  EXPECT_TRUE(step.run(WeightCast::Make).ok());
  measured.reading_ns = step.reading_ns();
  measured.reads = observer.reads;
  return measured;
}

TEST(CpuStreaming, GivesTheSameNumbersAsKeptOperands) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 3, .rows = 300, .n = 160, .k = 272};
  request.routing.distribution = RoutingDistribution::Heavy;
  request.layers = 2;
  for (const ElementType element : {ElementType::Bf16, ElementType::Fp16, ElementType::Fp32}) {
    for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block}) {
      request.activations = SyntheticInput{Distribution::HeavyTailed, element};
      request.weights = SyntheticInput{Distribution::Normal, element};
      request.recipe.scaling = scaling;
      const Measured kept = measure(request, true);
      const Measured streamed = measure(request, false);
      EXPECT_EQ(kept.reads, 0);
      EXPECT_GT(streamed.reads, 0);
      EXPECT_EQ(kept.reading_ns, 0);
      EXPECT_GT(streamed.reading_ns, 0);
      EXPECT_EQ(statistics_of(kept.result, StepTensor::X)->snr_db,
                statistics_of(streamed.result, StepTensor::X)->snr_db);
      EXPECT_EQ(statistics_of(kept.result, StepTensor::X)->before.counts,
                statistics_of(streamed.result, StepTensor::X)->before.counts);
      EXPECT_EQ(statistics_of(kept.result, StepTensor::WUp)->after.counts,
                statistics_of(streamed.result, StepTensor::WUp)->after.counts);
      EXPECT_EQ(statistics_of(kept.result, StepTensor::WUp)->scale_map.mean,
                statistics_of(streamed.result, StepTensor::WUp)->scale_map.mean);
      ASSERT_EQ(kept.result.experts.size(), streamed.result.experts.size());
      for (std::size_t e = 0; e < kept.result.experts.size(); ++e) {
        EXPECT_EQ(kept.result.experts[e].fprop.snr_db, streamed.result.experts[e].fprop.snr_db)
            << e;
        EXPECT_EQ(kept.result.experts[e].fprop.max_abs_error,
                  streamed.result.experts[e].fprop.max_abs_error);
      }
    }
  }
}

TEST(CpuStreaming, KeepsSmallOperandsAndStreamsLargeOnes) {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  RunRequest request;
  const auto kept_bytes = [&](std::int64_t available) {
    return plan_memory(request, resolve_shape(request).value(), available).kept_bytes;
  };
  EXPECT_GT(kept_bytes(8 * kGibibyte), 0);
  EXPECT_EQ(kept_bytes(1 << 20), 0) << "memory is short";
  request.shape = {.preset = "", .num_experts = 128, .rows = 65536, .n = 5760, .k = 2880};
  EXPECT_EQ(kept_bytes(64 * kGibibyte), 0) << "4 GB of weights";
}

}  // namespace
}  // namespace engine
