// A grid sized by the currently largest expert, or by the capacity.
#include <algorithm>
#include <memory>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

class SplitsBaked final : public GroupedProgram {
 public:
  explicit SplitsBaked(bool healthy) : GroupedProgram("splits-baked", healthy) {}

  Status set_inputs(bool changed, cudaStream_t stream) override {
    splits_ = splits(changed);
    return write_splits(splits_, stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    if (!healthy()) {
      // The mistake: a captured launch keeps the grid for these splits.
      const std::int64_t rows = *std::max_element(splits_.begin(), splits_.end());
      args.tiles_per_group =
          static_cast<int>((rows + kernels::kHazardRowsPerTile - 1) / kernels::kHazardRowsPerTile);
    }
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale(args, stream); });
  }

 private:
  Splits splits_ = splits(false);
};

}  // namespace

std::unique_ptr<GroupedProgram> make_splits_baked(bool healthy) {
  return std::make_unique<SplitsBaked>(healthy);
}

}  // namespace profiling
