// Expert addresses computed by the host and copied in the step, or computed by a kernel.
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::PinnedBuffer;
using engine::Status;

constexpr std::int64_t kWord = 8;

class HostPointerArray final : public GroupedProgram {
 public:
  explicit HostPointerArray(bool healthy) : GroupedProgram("host-pointer-array", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    engine::Result<DeviceBuffer> array = DeviceBuffer::allocate(
        kGroups * kWord, {AllocationRole::PointerArray, "addresses of the experts' rows"});
    if (!array.ok()) return array.error();
    device_array_ = std::move(array).value();
    ENGINE_ASSIGN(host_array_,
                  PinnedBuffer::allocate(kGroups * kWord, {AllocationRole::PointerArray,
                                                           "host's array of addresses"}));
    fill(0);
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    const kernels::GroupedScaleArgs args = scale(x(), y());
    if (healthy()) {
      ENGINE_TRY(work(observer, engine::Stage::Offsets, [&] {
        return kernels::expert_addresses(args, device_array_.as<const void*>(), stream);
      }));
    } else {
      fill(0);
      // The mistake: a replay copies the current contents of the host's array.
      ENGINE_TRY(work(observer, engine::Stage::Offsets, [&] {
        return cudaMemcpyAsync(device_array_.data(), host_array_.as<void>(), kGroups * kWord,
                               cudaMemcpyHostToDevice, stream);
      }));
    }
    return work(observer, engine::Stage::Fprop, [&] {
      return kernels::grouped_scale_addressed(args, device_array_.as<const void*>(), stream);
    });
  }

  /// The next layer's addresses.
  Status scribble_host() override {
    fill(1);
    return {};
  }

 private:
  /// Every expert's rows; for layers above 0 another expert's, which stay in bounds: all addresses
  /// are in the first half of X and no expert has more than half of the rows.
  void fill(int layer) {
    const Splits rows = splits(false);
    const void** addresses = host_array_.as<const void*>();
    std::int64_t row = 0;
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t first = layer == 0 ? row : group * 8 + 8;
      addresses[group] = static_cast<const std::uint16_t*>(x()) + first * kColumns;
      row += rows[static_cast<std::size_t>(group)];
    }
  }

  DeviceBuffer device_array_;
  PinnedBuffer host_array_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_host_pointer_array(bool healthy) {
  return std::make_unique<HostPointerArray>(healthy);
}

}  // namespace profiling
