// A forward and a backward graph with memory from one pool. The backward graph reads the saved
// activation through addresses in device memory, as grouped matmuls do.
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

constexpr std::int64_t kPoolBytes = std::int64_t{4} << 20;

class PoolAlias final : public GroupedProgram {
 public:
  explicit PoolAlias(bool healthy) : GroupedProgram("pool-alias", healthy) {}

  std::vector<std::string> graph_names() const override { return {"forward", "backward"}; }

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(dx_, activation(AllocationRole::Output, "dX"));
    check("dX", dx_.data());
    ENGINE_ASSIGN(dw_, activation(AllocationRole::Output, "dW"));
    check("dW", dw_.data());
    ENGINE_ASSIGN(activation_rows_, DeviceBuffer::allocate(std::int64_t{kGroups} * 8,
                                                           {AllocationRole::PointerArray,
                                                            "addresses of the activation's rows"}));
    ENGINE_ASSIGN(pool_, BlockPool::create(kPoolBytes, engine::MemorySpace::Device));
    Result<std::byte*> saved =
        pool_.take(kActivationBytes, {AllocationRole::Quantized, "saved activation"});
    if (!saved.ok()) return saved.error();
    saved_ = saved.value();
    ENGINE_TRY(take_scratch());
    return engine::check_cuda(
        kernels::expert_addresses(scale(saved_, y()), activation_rows_.as<const void*>(), stream),
        "Computing the addresses of the saved activation");
  }

  Status enqueue(int graph, cudaStream_t stream, engine::StepObserver& observer) override {
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
  static constexpr int kScratchTiles = kTiles / 4;  // enough for the largest expert

  Status forward(cudaStream_t stream, engine::StepObserver& observer) {
    ENGINE_TRY(work(observer, engine::Stage::Quantize,
                    [&] { return kernels::grouped_scale(scale(x(), saved_), stream); }));
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale(scale(saved_, y()), stream); });
  }

  Status backward(cudaStream_t stream, engine::StepObserver& observer) {
    if (scratch_ == nullptr) ENGINE_TRY(take_scratch());
    kernels::GroupedScaleArgs dgrad = scale(y(), dx_.data());
    dgrad.tiles_per_group = kScratchTiles;
    ENGINE_TRY(work(observer, engine::Stage::Dgrad, [&] {
      return kernels::grouped_scale_staged(dgrad, reinterpret_cast<float*>(scratch_), stream);
    }));
    return work(observer, engine::Stage::Wgrad, [&] {
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
  BlockPool pool_;
  std::byte* saved_ = nullptr;
  std::byte* scratch_ = nullptr;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_pool_alias(bool healthy) {
  return std::make_unique<PoolAlias>(healthy);
}

}  // namespace profiling
