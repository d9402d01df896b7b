#include "engine/linear/recorded_splits.h"

#include <cstring>
#include <utility>

namespace engine {

Result<RecordedSplits> RecordedSplits::create(std::vector<std::vector<std::int64_t>> steps,
                                              bool int32, const TokenRouting* tokens) {
  RecordedSplits made;
  made.steps_ = std::move(steps);
  if (made.steps_.size() < 2) return made;  // nothing to be copied
  const std::size_t groups = made.steps_.front().size();
  const std::size_t width = int32 ? sizeof(std::int32_t) : sizeof(std::int64_t);
  made.step_bytes_ = groups * width;
  if (tokens != nullptr) {
    const auto copies = static_cast<std::size_t>(tokens->tokens() * tokens->top_k());
    made.step_bytes_ =
        experts_offset(groups, width) + (copies * sizeof(std::int32_t) + kRoutingAlignment - 1) /
                                            kRoutingAlignment * kRoutingAlignment;
  }
  ENGINE_ASSIGN(made.pinned_, PinnedBuffer::allocate(
                                  static_cast<std::int64_t>(made.step_bytes_ * made.steps_.size()),
                                  {AllocationRole::Splits, "splits of recorded steps"}));
  for (std::size_t step = 0; step < made.steps_.size(); ++step) {
    const std::vector<std::int64_t>& splits = made.steps_[step];
    auto* target = made.pinned_.as<std::byte>() + step * made.step_bytes_;
    for (const std::int64_t rows : splits) {
      const auto narrow = static_cast<std::int32_t>(rows);  // at most kMaxDimension
      std::memcpy(target, int32 ? static_cast<const void*>(&narrow) : &rows, width);
      target += width;
    }
    if (tokens == nullptr) continue;
    const std::vector<std::int32_t> experts = tokens->experts_of(splits, step);
    std::memcpy(
        made.pinned_.as<std::byte>() + step * made.step_bytes_ + experts_offset(groups, width),
        experts.data(), experts.size() * sizeof(experts[0]));
  }
  return made;
}

Status RecordedSplits::enqueue(std::size_t step, DeviceStep& of, cudaStream_t stream) const {
  return of.enqueue_splits(pinned_.as<std::byte>() + step * step_bytes_, stream);
}

}  // namespace engine
