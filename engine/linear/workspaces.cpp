#include "engine/linear/workspaces.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "engine/gemm/grouped_product.h"

namespace engine {
namespace {

constexpr int kLayouts = 3;  // TN, NN, NT: one a kind of product

std::string owner(const StepConfig& config, int index) {
  constexpr std::array kLayoutNames = {"fprop", "dgrad", "wgrad"};
  switch (config.workspace) {
    case WorkspaceStrategy::PerMatmul:
      return fmt::format("workspace of product {}", index + 1);
    case WorkspaceStrategy::PerLayout:
      return fmt::format("workspace of every {}", kLayoutNames.at(static_cast<std::size_t>(index)));
    case WorkspaceStrategy::Shared:
    case WorkspaceStrategy::PerCall:
      break;
  }
  return "workspace of all products";
}

}  // namespace

int Workspaces::count(const StepConfig& config) {
  switch (config.workspace) {
    case WorkspaceStrategy::PerMatmul:
      return config.products();
    case WorkspaceStrategy::Shared:
      return 1;
    case WorkspaceStrategy::PerLayout:
      return kLayouts;
    case WorkspaceStrategy::PerCall:
      break;
  }
  return 0;
}

std::int64_t Workspaces::call_bytes() { return kWorkspaceBytes; }

std::int64_t Workspaces::bytes(const StepConfig& config) {
  const bool per_call = config.workspace == WorkspaceStrategy::PerCall;
  return kWorkspaceBytes * (per_call ? 1 : count(config));
}

Result<Workspaces> Workspaces::create(const StepConfig& config, cudaStream_t stream) {
  Workspaces made;
  made.strategy_ = config.workspace;
  for (int i = 0; i < count(config); ++i) {
    Result<DeviceBuffer> buffer =
        DeviceBuffer::allocate(kWorkspaceBytes, {AllocationRole::Workspace, owner(config, i)});
    if (!buffer.ok()) return buffer.error();
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.value().data(), 0, buffer.value().bytes(), stream),
                    "Clearing a workspace");
    made.buffers_.push_back(std::move(buffer).value());
  }
  return made;
}

void* Workspaces::at(int index, Product product) const {
  switch (strategy_) {
    case WorkspaceStrategy::PerMatmul:
      return buffers_[static_cast<std::size_t>(index)].data();
    case WorkspaceStrategy::PerLayout:
      return buffers_[static_cast<std::size_t>(product)].data();
    case WorkspaceStrategy::Shared:
    case WorkspaceStrategy::PerCall:
      break;
  }
  return buffers_.front().data();
}

}  // namespace engine
