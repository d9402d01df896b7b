#include "engine/backend/cpu/host_step.h"

#include <algorithm>

namespace engine {

Error cancelled() { return {ErrorCode::Cancelled, "the run was cancelled"}; }

bool StepProgress::advance(int expert, double units) {
  done_units_ += units;
  shown_.expert.store(expert, std::memory_order_relaxed);
  const double share = share_ ? share_() : done_units_ / total_units_;
  shown_.fraction.store(std::min(share, 1.0), std::memory_order_relaxed);
  return !is_cancelled();
}

}  // namespace engine
