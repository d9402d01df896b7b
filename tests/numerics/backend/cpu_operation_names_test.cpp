// Every span of a step's work is named by the operation of the step's program that did it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/backend/backend.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "engine/program/step_program.h"
#include "tests/numerics/backend/layer_bench.h"

namespace engine {
namespace {

using ::testing::IsSupersetOf;

/// Operations of the timed iterations.
std::set<std::string> names_of_run(const RunRequest& request) {
  struct Names final : StepObserver {
    void begin_iteration(int) override { timed = true; }
    void end_iteration() override { timed = false; }
    void span(const WorkTag& tag, const char*, int, std::int64_t, std::int64_t) override {
      if (!timed) return;
      const std::string name = operation_name(step, tag.stage, tag.writes);
      EXPECT_NE(name, "") << stage_name(tag.stage);
      names.insert(name);
    }
    StepKind step = StepKind::Linear;
    bool timed = false;
    std::set<std::string> names;
  };
  Names observer;
  observer.step = request.step;
  RunProgress progress;
  const auto result = make_cpu_backend()->run(request, {progress, observer});
  EXPECT_TRUE(result.ok()) << result.error().message;
  // What the program says, copy by copy: the host makes one after the other.
  for (const ProgramPart& part : program_of(request).parts) {
    for (const Operation& operation : part.operations) {
      for (const Value& value : operation.writes) {
        if (operation.kind != OperationKind::Quantize && &value != &operation.writes.front()) {
          continue;
        }
        const std::string name =
            operation_name(request.step, operation.traits().stage, written(value));
        EXPECT_TRUE(observer.names.contains(name)) << name;
      }
    }
  }
  return observer.names;
}

TEST(CpuOperationNames, ALayerFromTokensToTheirGradients) {
  RunRequest request = layer_request(Scaling::Block, StepPasses::ForwardBackward);
  request.expert_layer.top_k = 3;
  request.products.bias = true;
  const std::set<std::string> names = names_of_run(request);
  EXPECT_THAT(names, IsSupersetOf({"permute X", "quantize X, rowwise", "quantize X, columnwise",
                                   "quantize Wup, rowwise", "quantize Wup, columnwise",
                                   "quantize Wdown, columnwise", "quantize A, columnwise"}));
  EXPECT_THAT(names, IsSupersetOf({"fprop up", "fprop down", "dgrad down", "dgrad up", "wgrad down",
                                   "wgrad up", "add bias to H", "sum dbdown"}));
  EXPECT_THAT(names, IsSupersetOf({"quantize dY, rowwise", "quantize dH, columnwise",
                                   "unpermute Yt", "permute dY", "unpermute dXt"}));
}

TEST(CpuOperationNames, ALayerThatQuantizesNothing) {
  RunRequest request = layer_request(Scaling::None, StepPasses::ForwardBackward);
  EXPECT_THAT(names_of_run(request), IsSupersetOf({"compute A", "compute dH", "fprop up"}));
}

TEST(CpuOperationNames, ALinearStep) {
  RunRequest request = layer_request(Scaling::PerTensorCurrent, StepPasses::ForwardBackward);
  request.step = StepKind::Linear;
  request.products.bias = true;
  EXPECT_THAT(names_of_run(request),
              IsSupersetOf({"amax of X", "quantize X, rowwise", "quantize W, columnwise", "fprop",
                            "dgrad", "wgrad", "add bias to Y", "sum db"}));
}

}  // namespace
}  // namespace engine
