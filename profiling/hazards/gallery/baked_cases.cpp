// What a capture freezes: host memory that a copy reads again, a value, a grid.
#include <algorithm>
#include <cstring>

#include "engine/device/block_pool.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::PinnedBuffer;
using engine::Stage;
using engine::Status;
using engine::StepObserver;

/// Expert addresses computed by the host and copied in the step, or computed by a kernel.
class HostPointerArray final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_TRY(allocate(device_array_, kBytes, AllocationRole::PointerArray,
                        "addresses of the experts' rows"));
    ENGINE_TRY(
        allocate(host_array_, kBytes, AllocationRole::PointerArray, "host's array of addresses"));
    fill(0);
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    const kernels::GroupedScaleArgs args = scale(x(), y());
    if (healthy()) {
      ENGINE_TRY(work(observer, Stage::Offsets, [&] {
        return kernels::expert_addresses(args, device_array_.as<const void*>(), stream);
      }));
    } else {
      fill(0);
      // The mistake: a replay copies the current contents of the host's array.
      ENGINE_TRY(work(observer, Stage::Offsets, [&] {
        return cudaMemcpyAsync(device_array_.data(), host_array_.as<void>(), kBytes,
                               cudaMemcpyHostToDevice, stream);
      }));
    }
    return work(observer, Stage::Fprop, [&] {
      return kernels::grouped_scale_addressed(args, device_array_.as<const void*>(), stream);
    });
  }

  /// The next layer's addresses.
  Status scribble_host() override {
    fill(1);
    return {};
  }

 private:
  static constexpr std::int64_t kBytes = std::int64_t{kGroups} * 8;

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

/// Expert weights of the step are copied from pinned staging memory, which the faulty program frees
/// as soon as the copy is enqueued.
class HostSourceReused final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t stream) override {
    constexpr std::int64_t kStagingBytes = std::int64_t{64} << 10;
    ENGINE_TRY(allocate(gate_, kGateBytes, AllocationRole::Input, "gate of the step"));
    ENGINE_ASSIGN(staging_,
                  engine::BlockPool::create(kStagingBytes, engine::MemorySpace::PinnedHost));
    if (!healthy()) return {};
    const float gate_value = kGate;
    return engine::copy_to_device(gate_.data(), std::span<const float>(&gate_value, 1), stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    if (!healthy()) ENGINE_TRY(copy_gate(stream, observer));
    kernels::GroupedScaleArgs args = scale(x(), y());
    args.device_scale = gate_.as<float>();
    return launch(args, Stage::Fprop, stream, observer);
  }

  /// The next owner of the staging memory.
  Status scribble_host() override {
    ENGINE_ASSIGN(std::byte * next, stage(-kGate, "staging of another tensor"));
    staging_.give_back(next);
    return {};
  }

 private:
  static constexpr float kGate = 0.75F;
  static constexpr std::int64_t kGateBytes = sizeof(float);

  engine::Result<std::byte*> stage(float value, const char* owner) {
    ENGINE_ASSIGN(std::byte * staging, staging_.take(kGateBytes, {AllocationRole::Input, owner}));
    std::memcpy(staging, &value, sizeof value);
    return staging;
  }

  Status copy_gate(cudaStream_t stream, StepObserver& observer) {
    ENGINE_ASSIGN(std::byte * staging, stage(kGate, "staging of the gate"));
    ENGINE_TRY(work(observer, Stage::Memory, [&] {
      return cudaMemcpyAsync(gate_.data(), staging, kGateBytes, cudaMemcpyHostToDevice, stream);
    }));
    // The mistake: a captured copy has not read it yet, and reads it in every replay.
    staging_.give_back(staging);
    return {};
  }

  DeviceBuffer gate_;
  engine::BlockPool staging_;
};

/// The host's schedule changes a scale between steps: by value, or in device memory.
class ScalarBaked final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t stream) override {
    ENGINE_TRY(allocate(device_scale_, sizeof(float), AllocationRole::Input, "scale of the step"));
    return set_inputs(false, stream);
  }

  Status set_inputs(bool changed, cudaStream_t stream) override {
    scale_ = changed ? 0.375F : 1.5F;
    return engine::copy_to_device(device_scale_.data(), std::span<const float>(&scale_, 1), stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    if (healthy()) {
      args.device_scale = device_scale_.as<float>();
    } else {
      args.scale = scale_;  // the mistake: a captured launch keeps this value
    }
    return launch(args, Stage::Fprop, stream, observer);
  }

 private:
  float scale_ = 1.0F;
  DeviceBuffer device_scale_;
};

/// A grid sized by the currently largest expert, or by the capacity.
class SplitsBaked final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status set_inputs(bool changed, cudaStream_t stream) override {
    splits_ = splits(changed);
    return write_splits(splits_, stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    // The mistake: a captured launch keeps the grid for these splits.
    if (!healthy()) args.tiles_per_group = tiles_of(std::ranges::max(splits_));
    return launch(args, Stage::Fprop, stream, observer);
  }

 private:
  Splits splits_ = splits(false);
};

}  // namespace

std::span<const GalleryProgram> baked_programs() {
  static constexpr GalleryProgram kPrograms[] = {
      {"host-pointer-array", make_program<HostPointerArray>},
      {"host-source-reused", make_program<HostSourceReused>},
      {"scalar-baked", make_program<ScalarBaked>},
      {"splits-baked", make_program<SplitsBaked>},
  };
  return kPrograms;
}

}  // namespace profiling
