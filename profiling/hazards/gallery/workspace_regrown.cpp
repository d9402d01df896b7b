// Eager steps and captures each have a workspace. The faulty program's grows during the capture;
// the kernels captured before keep the old address, which the user's next tensor gets.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "profiling/hazards/gallery/block_pool.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Result;
using engine::Status;

class WorkspaceRegrown final : public GroupedProgram {
 public:
  explicit WorkspaceRegrown(bool healthy) : GroupedProgram("workspace-regrown", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(z_, activation(AllocationRole::Output, "Z"));
    check("Z", z_.data());
    ENGINE_ASSIGN(pool_, BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    ENGINE_TRY(grow(of_captures_, bytes_for(healthy() ? kTiles : kFirstTiles)));
    ENGINE_TRY(grow(of_eager_steps_, bytes_for(kTiles)));
    ENGINE_TRY(take_user_tensor());
    check("user tensor", user_tensor_, true, kUserFill);
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    Workspace& workspace = capturing ? of_captures_ : of_eager_steps_;
    kernels::GroupedScaleArgs first = scale(x(), y());
    first.tiles_per_group = kFirstTiles;
    ENGINE_TRY(product(first, workspace, stream, observer));
    return product(scale(y(), z_.data()), workspace, stream, observer);
  }

  Status captured(int /*graph*/, cudaStream_t /*stream*/) override {
    // The user is done with one tensor and allocates the next.
    pool_.give_back(user_tensor_);
    ENGINE_TRY(take_user_tensor());
    move_output("user tensor", user_tensor_);
    return {};
  }

 private:
  static constexpr std::int64_t kPoolBytes = std::int64_t{16} << 20;
  static constexpr int kUserFill = 0x3C;

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
                 engine::StepObserver& observer) {
    ENGINE_TRY(grow(workspace, bytes_for(args.tiles_per_group)));
    return work(observer, engine::Stage::Fprop, [&] {
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

  Status take_user_tensor() {
    ENGINE_ASSIGN(user_tensor_,
                  pool_.take(kActivationBytes, {AllocationRole::Output, "user tensor"}));
    return {};
  }

  DeviceBuffer z_;
  BlockPool pool_;
  Workspace of_captures_{.owner = "workspace of captures"};
  Workspace of_eager_steps_{.owner = "workspace of eager steps"};
  std::byte* user_tensor_ = nullptr;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_workspace_regrown(bool healthy) {
  return std::make_unique<WorkspaceRegrown>(healthy);
}

}  // namespace profiling
