// A workspace from a pool; the faulty program frees it once the capture is done, and the user's
// next tensor gets its memory.
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/block_pool.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::Result;
using engine::Status;

class WorkspaceFreed final : public GroupedProgram {
 public:
  explicit WorkspaceFreed(bool healthy) : GroupedProgram("workspace-freed", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(pool_, BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    const std::int64_t bytes = kernels::grouped_scale_workspace_bytes(kGroups, kColumns, kTiles);
    ENGINE_ASSIGN(workspace_,
                  pool_.take(bytes, {AllocationRole::Workspace, "workspace of the product"}));
    ENGINE_TRY(take_user_tensor());
    check("user tensor", user_tensor_, true, kUserFill);
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    return work(observer, engine::Stage::Fprop, [&] {
      return kernels::grouped_scale_staged(scale(x(), y()), reinterpret_cast<float*>(workspace_),
                                           stream);
    });
  }

  Status captured(int /*graph*/, cudaStream_t /*stream*/) override {
    // The mistake: the graph writes there in every replay.
    if (!healthy()) pool_.give_back(workspace_);
    // The user is done with one tensor and allocates the next.
    pool_.give_back(user_tensor_);
    ENGINE_TRY(take_user_tensor());
    move_output("user tensor", user_tensor_);
    return {};
  }

 private:
  static constexpr std::int64_t kPoolBytes = std::int64_t{16} << 20;
  static constexpr int kUserFill = 0x3C;

  Status take_user_tensor() {
    ENGINE_ASSIGN(user_tensor_,
                  pool_.take(kActivationBytes, {AllocationRole::Output, "user tensor"}));
    return {};
  }

  BlockPool pool_;
  std::byte* workspace_ = nullptr;
  std::byte* user_tensor_ = nullptr;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_workspace_freed(bool healthy) {
  return std::make_unique<WorkspaceFreed>(healthy);
}

}  // namespace profiling
