// What the histograms of the Compare page can show of a pair.
#include "app/gui/compare/compare_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/patience.h"

namespace app {
namespace {

using engine::StepTensor;
using testing::ElementsAre;

/// A run whose operands have as many values, scales and amax as given, doubled each time.
engine::RunResult result_of(engine::StepKind step, const std::vector<StepTensor>& operands) {
  engine::RunResult result;
  result.effective.step = step;
  std::uint64_t count = 1;
  for (const StepTensor tensor : operands) {
    engine::OperandStatistics measured;
    for (engine::MagnitudeHistogram* histogram :
         {&measured.after, &measured.scale, &measured.amax}) {
      histogram->zeros = count;
      count *= 2;
    }
    result.tensors.push_back({.tensor = tensor, .quantization = std::move(measured)});
  }
  return result;
}

std::vector<std::string> labels(const std::vector<OfferedOverlay>& offered) {
  std::vector<std::string> names;
  for (const OfferedOverlay& one : offered) names.push_back(one.label);
  return names;
}

CompareSide side_of(engine::RunResult result) {
  auto run = std::make_shared<profiling::RecordedRun>();
  run->result = std::move(result);
  return {.title = "run", .runs = {std::move(run)}};
}

TEST(CompareModel, OffersEveryOperandThatEitherRunHas) {
  const auto linear =
      result_of(engine::StepKind::Linear, {StepTensor::X, StepTensor::WUp, StepTensor::DY});
  const auto layer = result_of(engine::StepKind::ExpertLayer, {StepTensor::WUp, StepTensor::A});
  EXPECT_THAT(labels(offered_overlays(linear, layer)),
              ElementsAre("iteration times", "times of the kernel", "X values", "X scales",
                          "X amax", "W/Wup values", "W/Wup scales", "W/Wup amax", "A values",
                          "A scales", "A amax", "dY values", "dY scales", "dY amax"));
  EXPECT_THAT(labels(offered_overlays(layer, layer)),
              ElementsAre("iteration times", "times of the kernel", "Wup values", "Wup scales",
                          "Wup amax", "A values", "A scales", "A amax"));
}

TEST(CompareModel, ShowsTheNumbersOfTheChosenOperand) {
  CompareModel model([] {});
  model.follow(side_of(result_of(engine::StepKind::Linear, {StepTensor::X, StepTensor::DY})),
               side_of(result_of(engine::StepKind::Linear, {StepTensor::X})),
               engine::Product::Fprop);
  for (int i = 0; i < 1000 * tests::patience() && !model.tick(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_NE(model.comparison(), nullptr);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> totals;
  for (const OfferedOverlay& one : model.overlays()) {
    if (one.overlay.of == Overlay::Of::Steps || one.overlay.of == Overlay::Of::Kernel) continue;
    const OverlaidBins& bins = model.bins(one.overlay, -1, false);
    totals.emplace_back(bins.a.zeros, bins.b.zeros);
  }
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_THAT(totals, ElementsAre(Pair(1, 1), Pair(2, 2), Pair(4, 4), Pair(8, 0), Pair(16, 0),
                                  Pair(32, 0)));
}

}  // namespace
}  // namespace app
