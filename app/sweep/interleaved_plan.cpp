#include "app/sweep/interleaved_plan.h"

#include <fmt/format.h>

namespace app {

engine::Result<std::vector<PlannedRun>> plan_interleaved(const InterleavedOrder& order,
                                                         const WorkerHello& hello) {
  if (order.blocks < kMinBlocks || order.blocks > kMaxBlocks || order.blocks % 2 != 0) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("blocks is {}; it must be an even number from {} to {}",
                                     order.blocks, kMinBlocks, kMaxBlocks)};
  }
  PlannedRun sides[] = {{.request = order.a, .label = "A", .refused = {}},
                        {.request = order.b, .label = "B", .refused = {}}};
  for (PlannedRun& side : sides) {
    side.request.launch.iterations = order.iterations;
    if (const std::string refused = refusal_of(side.request, hello); !refused.empty()) {
      return engine::Error{engine::ErrorCode::Unsupported,
                           fmt::format("{} cannot be measured: {}", side.label, refused)};
    }
  }
  std::vector<PlannedRun> plan;
  for (int block = 0; block < order.blocks; ++block) {
    const bool outer = block % 4 == 0 || block % 4 == 3;
    plan.push_back(sides[outer ? 0 : 1]);
  }
  return plan;
}

}  // namespace app
