#include "engine/linear/workspaces.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "engine/gemm/grouped_product.h"

namespace engine {
namespace {

constexpr int kLayouts = 3;  // TN, NN, NT: one per kind of product

std::string owner(WorkspaceSharing sharing, int index) {
  switch (sharing) {
    case WorkspaceSharing::None:
      return fmt::format("workspace of product {}", index + 1);
    case WorkspaceSharing::SameLayout:
      return fmt::format("workspace of every {}", name_of(static_cast<Product>(index)));
    case WorkspaceSharing::All:
      break;
  }
  return "workspace of all products";
}

/// Which graphs use buffer `index`.
BufferLife life(const StepConfig& config, WorkspaceSharing sharing, int index) {
  if (!config.pooled_workspaces) return BufferLife::Step;
  switch (sharing) {
    case WorkspaceSharing::None:  // the products of fprop come first
      return config.forward() && index < config.layers ? BufferLife::Forward : BufferLife::Backward;
    case WorkspaceSharing::SameLayout:
      return static_cast<Product>(index) == Product::Fprop ? BufferLife::Forward
                                                           : BufferLife::Backward;
    case WorkspaceSharing::All:
      break;
  }
  return BufferLife::Step;
}

int count(const StepConfig& config) {
  return traits_of(config.workspace).buffers(config.product_count(), kLayouts);
}

}  // namespace

std::int64_t Workspaces::call_bytes() { return kWorkspaceBytes; }

std::int64_t Workspaces::bytes(const StepConfig& config) {
  if (config.own_products()) return 0;
  return kWorkspaceBytes * (traits_of(config.workspace).per_call ? 1 : count(config));
}

Result<std::shared_ptr<const Workspaces>> Workspaces::create(const StepConfig& config,
                                                             cudaStream_t stream) {
  auto made = std::make_shared<Workspaces>();
  if (config.own_products()) return std::shared_ptr<const Workspaces>(std::move(made));
  made->traits_ = traits_of(config.workspace);
  for (int i = 0; i < count(config); ++i) {
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(
                      kWorkspaceBytes, {AllocationRole::Workspace, owner(made->traits_.sharing, i),
                                        life(config, made->traits_.sharing, i)}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing a workspace");
    made->buffers_.push_back(std::move(buffer));
  }
  return std::shared_ptr<const Workspaces>(std::move(made));
}

void* Workspaces::at(int index, Product product) const {
  if (buffers_.empty()) return nullptr;
  const int buffer = traits_.buffer_of(index, static_cast<int>(product));
  return buffers_[static_cast<std::size_t>(buffer)].data();
}

}  // namespace engine
