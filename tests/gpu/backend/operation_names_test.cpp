// The work of a layer on the device is named by the operations of the step's program.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/backend/backend.h"
#include "engine/program/operation_words.h"
#include "engine/program/step_program.h"

namespace engine {
namespace {

TEST(DeviceOperationNames, AreThoseOfTheProgram) {
  const BackendSlot slot = make_cuda_backend("");
  if (slot.backend == nullptr) GTEST_SKIP() << slot.reason;
  struct Names final : StepObserver {
    void begin_work(const WorkTag& tag) override {
      names.insert(operation_name(StepKind::ExpertLayer, tag.stage, tag.writes));
    }
    std::set<std::string> names;
  };
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 768, .n = 512, .k = 384};
  request.recipe.scaling = Scaling::Block;
  request.products.passes = StepPasses::ForwardBackward;
  request.products.bias = true;
  request.expert_layer.top_k = 3;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.iterations = 2;
  Names observer;
  RunProgress progress;
  const auto result = slot.backend->run(request, {progress, observer});
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (const ProgramPart& part : program_of(result.value().effective).parts) {
    for (const Operation& operation : part.operations) {
      if (operation.writes.empty()) continue;  // arrays are no tensors of the step
      const std::string name =
          operation_name(StepKind::ExpertLayer, operation.traits().stage, written_by(operation));
      EXPECT_TRUE(observer.names.contains(name)) << name;
    }
  }
  EXPECT_TRUE(observer.names.contains("fill arrays of up"));
  EXPECT_TRUE(observer.names.contains("fprop down"));
}

}  // namespace
}  // namespace engine
