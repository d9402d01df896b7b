// Memory that replays share, reuse or grow: what was right for one launch is wrong for the next.
#include <fmt/format.h>

#include <utility>

#include "engine/device/block_pool.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Stage;
using engine::Status;
using engine::StepObserver;

/// A grid-wide barrier counts arrivals; the faulty program clears the counter after a launch, but
/// not during capture.
class FlagNotReset final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t stream) override {
    ENGINE_TRY(allocate(partial_amax_, kernels::kBarrierBlocks * std::int64_t{sizeof(float)},
                        AllocationRole::Quantized, "partial amax"));
    ENGINE_TRY(
        allocate(arrived_, sizeof(std::uint32_t), AllocationRole::Counter, "arrived blocks"));
    ENGINE_TRY(
        allocate(gave_up_, sizeof(std::uint32_t), AllocationRole::Check, "blocks that gave up"));
    ENGINE_TRY(clear(arrived_, stream));
    return clear(gave_up_, stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    if (healthy()) ENGINE_TRY(clear(arrived_, stream));
    ENGINE_TRY(work(observer, Stage::Quantize, [&] {
      return kernels::scale_by_amax({.scale = scale(x(), y()),
                                     .partial_amax = partial_amax_.as<float>(),
                                     .arrived = arrived_.as<std::uint32_t>(),
                                     .gave_up = gave_up_.as<std::uint32_t>()},
                                    stream);
    }));
    // The mistake: a replay does not run this host code.
    if (!healthy() && !capturing) return clear(arrived_, stream);
    return {};
  }

  Status noted_errors(cudaStream_t stream) override {
    std::uint32_t gave_up = 0;
    ENGINE_TRY(
        engine::copy_to_host(std::span<std::uint32_t>(&gave_up, 1), gave_up_.data(), stream));
    if (gave_up == 0) return {};
    return engine::Error{engine::ErrorCode::Device,
                         "Blocks waited 20 s for the others at a barrier and gave up"};
  }

 private:
  static Status clear(const DeviceBuffer& word, cudaStream_t stream) {
    return engine::check_cuda(cudaMemsetAsync(word.data(), 0, sizeof(std::uint32_t), stream),
                              "Clearing a counter");
  }

  DeviceBuffer partial_amax_;
  DeviceBuffer arrived_;
  DeviceBuffer gave_up_;
};

/// A pool from which the user takes a tensor too: once a graph is captured, the user is done with
/// one and allocates the next.
class PoolWithUser : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status captured(int /*graph*/, cudaStream_t /*stream*/) override {
    pool_.give_back(user_tensor_);
    ENGINE_TRY(take_user_tensor());
    move_output("user tensor", user_tensor_);
    return {};
  }

 protected:
  static constexpr std::int64_t kPoolBytes = std::int64_t{16} << 20;

  Status add_user_tensor() {
    constexpr int kFill = 0x3C;
    ENGINE_TRY(take_user_tensor());
    check("user tensor", user_tensor_, true, kFill);
    return {};
  }

  engine::BlockPool pool_;

 private:
  Status take_user_tensor() {
    ENGINE_ASSIGN(user_tensor_,
                  pool_.take(kActivationBytes, {AllocationRole::Output, "user tensor"}));
    return {};
  }

  std::byte* user_tensor_ = nullptr;
};

/// A workspace from a pool; the faulty program frees it once the capture is done, and the user's
/// next tensor gets its memory.
class WorkspaceFreed final : public PoolWithUser {
 public:
  using PoolWithUser::PoolWithUser;

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_ASSIGN(pool_, engine::BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    const std::int64_t bytes = kernels::grouped_scale_workspace_bytes(kGroups, kColumns, kTiles);
    ENGINE_ASSIGN(workspace_,
                  pool_.take(bytes, {AllocationRole::Workspace, "workspace of the product"}));
    return add_user_tensor();
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    return work(observer, Stage::Fprop, [&] {
      return kernels::grouped_scale_staged(scale(x(), y()), reinterpret_cast<float*>(workspace_),
                                           stream);
    });
  }

  Status captured(int graph, cudaStream_t stream) override {
    // The mistake: the graph writes there in every replay.
    if (!healthy()) pool_.give_back(workspace_);
    return PoolWithUser::captured(graph, stream);
  }

 private:
  std::byte* workspace_ = nullptr;
};

/// Eager steps and captures each have a workspace. The faulty program's grows during the capture;
/// the kernels captured before keep the old address, which the user's next tensor gets.
class WorkspaceRegrown final : public PoolWithUser {
 public:
  using PoolWithUser::PoolWithUser;

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_TRY(add_output(z_, "Z"));
    ENGINE_ASSIGN(pool_, engine::BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    ENGINE_TRY(grow(of_captures_, bytes_for(healthy() ? kTiles : kFirstTiles)));
    ENGINE_TRY(grow(of_eager_steps_, bytes_for(kTiles)));
    return add_user_tensor();
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    Workspace& workspace = capturing ? of_captures_ : of_eager_steps_;
    kernels::GroupedScaleArgs first = scale(x(), y());
    first.tiles_per_group = kFirstTiles;
    ENGINE_TRY(product(first, workspace, stream, observer));
    return product(scale(y(), z_.data()), workspace, stream, observer);
  }

 private:
  struct Workspace {
    const char* owner;
    std::byte* piece = nullptr;
    std::int64_t bytes = 0;
  };
  static constexpr int kFirstTiles = kTiles / 4;  // enough for the largest expert

  static std::int64_t bytes_for(int tiles) {
    return kernels::grouped_scale_workspace_bytes(kGroups, kColumns, tiles);
  }

  Status product(const kernels::GroupedScaleArgs& args, Workspace& workspace, cudaStream_t stream,
                 StepObserver& observer) {
    ENGINE_TRY(grow(workspace, bytes_for(args.tiles_per_group)));
    return work(observer, Stage::Fprop, [&] {
      return kernels::grouped_scale_staged(args, reinterpret_cast<float*>(workspace.piece), stream);
    });
  }

  /// The mistake, if during a capture: earlier launches hold the old address.
  Status grow(Workspace& workspace, std::int64_t bytes) {
    if (bytes <= workspace.bytes) return {};
    if (workspace.piece != nullptr) pool_.give_back(workspace.piece);
    ENGINE_ASSIGN(workspace.piece,
                  pool_.take(bytes, {AllocationRole::Workspace,
                                     fmt::format("{}, {} KiB", workspace.owner, bytes / 1024)}));
    workspace.bytes = bytes;
    return {};
  }

  DeviceBuffer z_;
  Workspace of_captures_{.owner = "workspace of captures"};
  Workspace of_eager_steps_{.owner = "workspace of eager steps"};
};

/// A forward and a backward graph with memory from one pool. The backward graph reads the saved
/// activation through addresses in device memory, as grouped matmuls do.
class PoolAlias final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  std::vector<std::string> graph_names() const override { return {"forward", "backward"}; }

  Status prepare(cudaStream_t stream) override {
    ENGINE_TRY(add_output(dx_, "dX"));
    ENGINE_TRY(add_output(dw_, "dW"));
    ENGINE_TRY(allocate(activation_rows_, std::int64_t{kGroups} * 8, AllocationRole::PointerArray,
                        "addresses of the activation's rows"));
    ENGINE_ASSIGN(pool_, engine::BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    ENGINE_ASSIGN(saved_,
                  pool_.take(kActivationBytes, {AllocationRole::Quantized, "saved activation"}));
    ENGINE_TRY(take_scratch());
    return engine::check_cuda(
        kernels::expert_addresses(scale(saved_, y()), activation_rows_.as<const void*>(), stream),
        "Computing the addresses of the saved activation");
  }

  Status enqueue(int graph, cudaStream_t stream, StepObserver& observer) override {
    return graph == 0 ? forward(stream, observer) : backward(stream, observer);
  }

  Status captured(int graph, cudaStream_t /*stream*/) override {
    if (graph != 0 || healthy()) return {};
    // The mistake: nothing holds the activation between the captures, so the pool may give it to
    // the backward graph.
    pool_.give_back(saved_);
    pool_.give_back(std::exchange(scratch_, nullptr));
    return {};
  }

 private:
  static constexpr std::int64_t kPoolBytes = std::int64_t{4} << 20;
  static constexpr int kScratchTiles = kTiles / 4;  // enough for the largest expert

  Status forward(cudaStream_t stream, StepObserver& observer) {
    ENGINE_TRY(launch(scale(x(), saved_), Stage::Quantize, stream, observer));
    return launch(scale(saved_, y()), Stage::Fprop, stream, observer);
  }

  Status backward(cudaStream_t stream, StepObserver& observer) {
    if (scratch_ == nullptr) ENGINE_TRY(take_scratch());
    kernels::GroupedScaleArgs dgrad = scale(y(), dx_.data());
    dgrad.tiles_per_group = kScratchTiles;
    ENGINE_TRY(work(observer, Stage::Dgrad, [&] {
      return kernels::grouped_scale_staged(dgrad, reinterpret_cast<float*>(scratch_), stream);
    }));
    return work(observer, Stage::Wgrad, [&] {
      return kernels::grouped_scale_addressed(scale(nullptr, dw_.data()),
                                              activation_rows_.as<const void*>(), stream);
    });
  }

  Status take_scratch() {
    ENGINE_ASSIGN(scratch_, pool_.take(kernels::grouped_scale_workspace_bytes(kGroups, kColumns,
                                                                              kScratchTiles),
                                       {AllocationRole::Workspace, "scratch of backward"}));
    return {};
  }

  DeviceBuffer dx_;
  DeviceBuffer dw_;
  DeviceBuffer activation_rows_;  // [kGroups] addresses
  engine::BlockPool pool_;
  std::byte* saved_ = nullptr;
  std::byte* scratch_ = nullptr;
};

/// A temporary tensor from the stream-ordered allocator, freed in the step or before the next one.
class AllocationWithoutFree final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;
  ~AllocationWithoutFree() override {
    if (of_last_step_ != nullptr) (void)cudaFree(of_last_step_);
  }

  Status reset(cudaStream_t stream) override {
    if (void* temporary = std::exchange(of_last_step_, nullptr)) {
      ENGINE_CUDA_TRY(cudaFreeAsync(temporary, stream), "Freeing a temporary tensor");
    }
    return GroupedProgram::reset(stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    void* temporary = nullptr;
    ENGINE_CUDA_TRY(cudaMallocAsync(&temporary, kActivationBytes, stream),
                    "Allocating a temporary tensor");
    ENGINE_TRY(launch(scale(x(), temporary), Stage::Quantize, stream, observer));
    ENGINE_TRY(launch(scale(temporary, y()), Stage::Fprop, stream, observer));
    if (healthy()) {
      return engine::check_cuda(cudaFreeAsync(temporary, stream), "Freeing a temporary tensor");
    }
    // The mistake: no replay frees what the graph allocated.
    if (!capturing) of_last_step_ = temporary;
    return {};
  }

 private:
  void* of_last_step_ = nullptr;  // freed before the next eager step
};

}  // namespace

std::span<const GalleryProgram> memory_programs() {
  static constexpr GalleryProgram kPrograms[] = {
      {"flag-not-reset", make_program<FlagNotReset>},
      {"workspace-freed", make_program<WorkspaceFreed>},
      {"workspace-regrown", make_program<WorkspaceRegrown>},
      {"pool-alias", make_program<PoolAlias>},
      {"allocation-without-free", make_program<AllocationWithoutFree>},
  };
  return kPrograms;
}

}  // namespace profiling
