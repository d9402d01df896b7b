// Expert weights of the step are copied from pinned staging memory, which the faulty program frees
// as soon as the copy is enqueued.
#include <cstring>
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/block_pool.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Status;

constexpr std::int64_t kStagingBytes = std::int64_t{64} << 10;
constexpr std::int64_t kGateBytes = sizeof(float);

class HostSourceReused final : public GroupedProgram {
 public:
  explicit HostSourceReused(bool healthy) : GroupedProgram("host-source-reused", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(gate_,
                  DeviceBuffer::allocate(kGateBytes, {AllocationRole::Input, "gate of the step"}));
    ENGINE_ASSIGN(staging_, BlockPool::create(kStagingBytes, engine::MemorySpace::PinnedHost));
    if (!healthy()) return {};
    const float gate_value = kGate;
    return engine::copy_to_device(gate_.data(), std::span<const float>(&gate_value, 1), stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    if (!healthy()) ENGINE_TRY(copy_gate(stream, observer));
    kernels::GroupedScaleArgs args = scale(x(), y());
    args.device_scale = gate_.as<float>();
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale(args, stream); });
  }

  /// The next owner of the staging memory.
  Status scribble_host() override {
    ENGINE_ASSIGN(std::byte * next,
                  staging_.take(kGateBytes, {AllocationRole::Input, "staging of another tensor"}));
    const float value = -kGate;
    std::memcpy(next, &value, sizeof value);
    staging_.give_back(next);
    return {};
  }

 private:
  static constexpr float kGate = 0.75F;

  Status copy_gate(cudaStream_t stream, engine::StepObserver& observer) {
    ENGINE_ASSIGN(std::byte * staging,
                  staging_.take(kGateBytes, {AllocationRole::Input, "staging of the gate"}));
    const float value = kGate;
    std::memcpy(staging, &value, sizeof value);
    ENGINE_TRY(work(observer, engine::Stage::Memory, [&] {
      return cudaMemcpyAsync(gate_.data(), staging, kGateBytes, cudaMemcpyHostToDevice, stream);
    }));
    // The mistake: a captured copy has not read it yet, and reads it in every replay.
    staging_.give_back(staging);
    return {};
  }

  DeviceBuffer gate_;
  BlockPool staging_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_host_source_reused(bool healthy) {
  return std::make_unique<HostSourceReused>(healthy);
}

}  // namespace profiling
