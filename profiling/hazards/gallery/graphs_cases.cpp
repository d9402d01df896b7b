// What crosses graphs: each of them is right alone, and together they are not.
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "engine/device/block_pool.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Stage;
using engine::Status;
using engine::StepObserver;

constexpr std::int64_t kPoolBytes = std::int64_t{4} << 20;

Status copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  return engine::check_cuda(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream),
      "Copying a tensor of the gallery");
}

/// A forward and a backward graph. Between them the loss runs eagerly, with memory from the pool
/// that the saved activation comes from.
class SavedTensorFreed final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  std::vector<std::string> graph_names() const override { return {"forward", "backward"}; }

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_TRY(add_output(dw_, "dW"));
    ENGINE_ASSIGN(pool_, engine::BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    ENGINE_ASSIGN(saved_,
                  pool_.take(kActivationBytes, {AllocationRole::Quantized, "saved activation"}));
    return {};
  }

  Status enqueue(int graph, cudaStream_t stream, StepObserver& observer) override {
    if (graph == 1) return launch(scale(saved_, dw_.data()), Stage::Wgrad, stream, observer);
    ENGINE_TRY(launch(scale(x(), saved_), Stage::Quantize, stream, observer));
    return launch(scale(saved_, y()), Stage::Fprop, stream, observer);
  }

  Status captured(int graph, cudaStream_t /*stream*/) override {
    // The mistake: the activation's last reference was in the capture of forward.
    if (graph == 0 && !healthy()) pool_.give_back(saved_);
    return {};
  }

  /// The loss, after forward: it needs a temporary tensor.
  Status after_launch(int number, cudaStream_t stream) override {
    if (number != 0) return {};
    ENGINE_ASSIGN(std::byte * temporary,
                  pool_.take(kActivationBytes, {AllocationRole::Output, "temporary of the loss"}));
    const Status computed = copy(temporary, y(), kActivationBytes, stream);
    pool_.give_back(temporary);
    return computed;
  }

 private:
  DeviceBuffer dw_;
  engine::BlockPool pool_;
  std::byte* saved_ = nullptr;
};

/// Routed experts and a shared expert, a graph each, replayed at the same time to fill the device.
class ConcurrentWorkspace final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  std::vector<std::string> graph_names() const override {
    return {"routed experts", "shared expert"};
  }
  std::vector<GraphLaunch> launches() const override {
    return {{.graph = 0}, {.graph = 1, .overlaps = true}};
  }

  Status prepare(cudaStream_t stream) override {
    ENGINE_TRY(add_output(z_, "Z"));
    ENGINE_TRY(
        allocate(shared_x_, kActivationBytes, AllocationRole::Input, "X of the shared expert"));
    ENGINE_TRY(make_other_values(shared_x_, stream));
    ENGINE_TRY(allocate(workspaces_[0], kWorkspaceBytes, AllocationRole::Workspace,
                        healthy() ? "workspace of the routed experts" : "workspace of the layer"));
    if (!healthy()) return {};  // the mistake: eager steps need one, as nothing overlaps there
    return allocate(workspaces_[1], kWorkspaceBytes, AllocationRole::Workspace,
                    "workspace of the shared expert");
  }

  Status enqueue(int graph, cudaStream_t stream, StepObserver& observer) override {
    // Far longer than the launch of a graph takes, so that the two always overlap.
    constexpr std::uint64_t kProductNs = 2'000'000;
    // The workspace holds x times weights: both graphs staging the same values would hide the
    // fault.
    kernels::GroupedScaleArgs product =
        graph == 0 ? scale(x(), y()) : scale(shared_x_.data(), z_.data());
    product.tiles_per_group = kScratchTiles;
    product.busy_ns = kProductNs;
    const DeviceBuffer& workspace = workspaces_[graph == 1 && healthy() ? 1 : 0];
    return work(observer, Stage::Fprop, [&] {
      return kernels::grouped_scale_staged(product, workspace.as<float>(), stream);
    });
  }

 private:
  static constexpr int kScratchTiles = kTiles / 4;  // enough for the largest expert
  static constexpr std::int64_t kWorkspaceBytes =
      kernels::grouped_scale_workspace_bytes(kGroups, kColumns, kScratchTiles);

  DeviceBuffer shared_x_;
  DeviceBuffer z_;
  std::array<DeviceBuffer, 2> workspaces_;
};

/// Two micro-batches in flight: forward 1, forward 2, backward 1, backward 2. A forward takes
/// memory for what it saves from the graphs' pool, and its backward gives it back.
class ReplaysOutOfOrder final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  std::vector<std::string> graph_names() const override {
    // The mistake: captured one micro-batch after the other.
    if (!healthy()) return {"forward 1", "backward 1", "forward 2", "backward 2"};
    return {"forward 1", "forward 2", "backward 1", "backward 2"};
  }
  std::vector<GraphLaunch> launches() const override {
    if (!healthy()) return {{.graph = 0}, {.graph = 2}, {.graph = 1}, {.graph = 3}};
    return {};
  }
  std::vector<GraphPool> graph_pools() const override { return {pool_.range()}; }

  Status prepare(cudaStream_t stream) override {
    ENGINE_ASSIGN(pool_, engine::BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    ENGINE_TRY(allocate(x2_, kActivationBytes, AllocationRole::Input, "X of micro-batch 2"));
    ENGINE_TRY(add_output(y2_, "Y of micro-batch 2"));
    ENGINE_TRY(add_output(dw_[0], "dW of micro-batch 1"));
    ENGINE_TRY(add_output(dw_[1], "dW of micro-batch 2"));
    return make_other_values(x2_, stream);
  }

  Status enqueue(int graph, cudaStream_t stream, StepObserver& observer) override {
    const std::string name = graph_names()[static_cast<std::size_t>(graph)];
    const std::size_t batch = name.ends_with('1') ? 0 : 1;
    if (name.starts_with("forward")) return forward(batch, stream, observer);
    ENGINE_TRY(launch(scale(saved_[batch], dw_[batch].data()), Stage::Wgrad, stream, observer));
    pool_.give_back(std::exchange(saved_[batch], nullptr));
    return {};
  }

 private:
  Status forward(std::size_t batch, cudaStream_t stream, StepObserver& observer) {
    ENGINE_ASSIGN(saved_[batch],
                  pool_.take(kActivationBytes,
                             {AllocationRole::Quantized,
                              batch == 0 ? "saved by micro-batch 1" : "saved by micro-batch 2"}));
    const void* x_of_batch = batch == 0 ? x() : x2_.data();
    ENGINE_TRY(launch(scale(x_of_batch, saved_[batch]), Stage::Quantize, stream, observer));
    return launch(scale(saved_[batch], batch == 0 ? y() : y2_.data()), Stage::Fprop, stream,
                  observer);
  }

  engine::BlockPool pool_;
  DeviceBuffer x2_;
  DeviceBuffer y2_;
  std::array<DeviceBuffer, 2> dw_;
  std::array<std::byte*, 2> saved_ = {};
};

/// Experts with delayed scaling, each with its own amax and scale, which lie in arrays. As all have
/// the same shape, the faulty program captures the work of one and replays that for every expert,
/// with the expert's rows copied into static memory.
class OneScaleForAll final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  std::vector<std::string> graph_names() const override {
    if (!healthy()) return {"expert"};
    std::vector<std::string> names;
    for (int expert = 1; expert <= kGroups; ++expert) {
      names.push_back("expert " + std::to_string(expert));
    }
    return names;
  }
  std::vector<GraphLaunch> launches() const override {
    if (healthy()) return {};
    // The mistake: the place of an expert's amax and scale is an argument, fixed at capture.
    return std::vector<GraphLaunch>(kGroups);
  }

  Status prepare(cudaStream_t stream) override {
    constexpr std::int64_t kStateBytes = kGroups * std::int64_t{sizeof(float)};
    ENGINE_TRY(allocate(rows_, kActivationBytes, AllocationRole::Quantized, "rows of all experts"));
    ENGINE_TRY(allocate(static_x_, kExpertBytes, AllocationRole::Quantized, "static input"));
    ENGINE_TRY(allocate(static_y_, kExpertBytes, AllocationRole::Quantized, "static output"));
    ENGINE_TRY(allocate(amax_, kStateBytes, AllocationRole::Quantized, "amax of every expert"));
    ENGINE_TRY(allocate(scales_, kStateBytes, AllocationRole::Quantized, "scale of every expert"));
    ENGINE_TRY(
        allocate(inverses_, kStateBytes, AllocationRole::Quantized, "inverse of every scale"));
    ENGINE_TRY(allocate(offsets_, std::int64_t{2} * 8, AllocationRole::Splits,
                        "row offsets of one expert"));
    constexpr std::array<std::int64_t, 2> kOffsets = {0, kExpertRows};
    ENGINE_TRY(
        engine::copy_to_device(offsets_.data(), std::span<const std::int64_t>(kOffsets), stream));
    ENGINE_TRY(engine::check_cuda(cudaMemsetAsync(scales_.data(), 0, scales_.bytes(), stream),
                                  "Clearing the scales"));
    Splits even;
    even.fill(kExpertRows);
    ENGINE_TRY(write_splits(even, stream));
    ENGINE_TRY(make_rows(stream));
    // A first step, which only makes the scales.
    StepObserver unobserved;
    for (int expert = 0; expert < kGroups; ++expert) {
      ENGINE_TRY(before_launch(expert, stream));
      ENGINE_TRY(enqueue(healthy() ? expert : 0, stream, unobserved));
    }
    return {};
  }

  Status before_launch(int number, cudaStream_t stream) override {
    expert_ = number;
    return copy(static_x_.data(), rows_.data() + number * kExpertBytes, kExpertBytes, stream);
  }

  Status after_launch(int number, cudaStream_t stream) override {
    return copy(static_cast<std::byte*>(y()) + number * kExpertBytes, static_y_.data(),
                kExpertBytes, stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    float* const amax = amax_.as<float>() + expert_;
    float* const expert_scale = scales_.as<float>() + expert_;
    kernels::GroupedScaleArgs args = of_one_expert(static_x_.data(), static_y_.data());
    args.device_scale = expert_scale;
    ENGINE_TRY(launch(args, Stage::Quantize, stream, observer));
    ENGINE_TRY(work(observer, Stage::Amax, [&] {
      return kernels::group_amax({.input = {.input = static_x_.data(),
                                            .row_offsets = args.row_offsets,
                                            .num_groups = 1,
                                            .capacity_rows = kExpertRows,
                                            .columns = kColumns},
                                  .amax = amax},
                                 {stream});
    }));
    return work(observer, Stage::Amax, [&] {
      return kernels::delayed_scaling_update({.history = amax,
                                              .length = 1,
                                              .num_groups = 1,
                                              .scale = expert_scale,
                                              .scale_inv = inverses_.as<float>() + expert_},
                                             {stream});
    });
  }

 private:
  static constexpr std::int64_t kExpertRows = kRows / kGroups;
  static constexpr std::int64_t kExpertBytes = kActivationBytes / kGroups;

  kernels::GroupedScaleArgs of_one_expert(const void* from, void* to) const {
    kernels::GroupedScaleArgs args = scale(from, to);
    args.row_offsets = offsets_.as<std::int64_t>();
    args.num_groups = 1;
    args.tiles_per_group = tiles_of(kExpertRows);
    return args;
  }

  /// X, with the magnitude of every expert's rows different from the others'.
  Status make_rows(cudaStream_t stream) {
    for (int expert = 0; expert < kGroups; ++expert) {
      const std::int64_t first = expert * kExpertBytes;
      kernels::GroupedScaleArgs args =
          of_one_expert(static_cast<const std::byte*>(x()) + first, rows_.data() + first);
      args.scale = std::ldexp(1.0F, expert);
      ENGINE_TRY(engine::check_cuda(kernels::grouped_scale(args, stream), "Making rows"));
    }
    return {};
  }

  DeviceBuffer rows_;      // [kRows, kColumns]
  DeviceBuffer static_x_;  // [kExpertRows, kColumns]
  DeviceBuffer static_y_;  // the same
  DeviceBuffer amax_;      // [kGroups]
  DeviceBuffer scales_;    // [kGroups]
  DeviceBuffer inverses_;  // [kGroups]
  DeviceBuffer offsets_;   // [2]
  int expert_ = 0;         // whose launch is next
};

}  // namespace

std::span<const GalleryProgram> graphs_programs() {
  static constexpr GalleryProgram kPrograms[] = {
      {"saved-tensor-freed", make_program<SavedTensorFreed>},
      {"concurrent-workspace", make_program<ConcurrentWorkspace>},
      {"replays-out-of-order", make_program<ReplaysOutOfOrder>},
      {"one-scale-for-all", make_program<OneScaleForAll>},
  };
  return kPrograms;
}

}  // namespace profiling
