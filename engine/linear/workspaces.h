// cuBLASLt workspaces by strategy. engine/gemm/support says which are hazardous on which versions.
#pragma once

#include <memory>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/linear/step_config.h"
#include "engine/model/run_result.h"

namespace engine {

class Workspaces {
 public:
  static Result<std::shared_ptr<const Workspaces>> create(const StepConfig& config,
                                                          cudaStream_t stream);

  /// Calls `launch(workspace)` with the workspace of product number `index`, null for a step whose
  /// products need none (StepConfig::own_products). A workspace per call
  /// is allocated and freed on the stream, under capture as nodes of the graph.
  template <class Launch>
  Status with(int index, Product product, cudaStream_t stream, Launch&& launch) const {
    if (!traits_.per_call) return launch(at(index, product));
    void* workspace = nullptr;
    ENGINE_CUDA_TRY(cudaMallocAsync(&workspace, static_cast<std::size_t>(call_bytes()), stream),
                    "Allocating a workspace for one call");
    const Status launched = launch(workspace);
    const Status freed = check_cuda(cudaFreeAsync(workspace, stream), "Freeing a workspace");
    return launched.ok() ? freed : launched;
  }

  static std::int64_t bytes(const StepConfig& config);
  /// Several steps of this configuration's strategy can use the same ones.
  static bool can_share(const StepConfig& config) {
    const WorkspaceTraits& traits = traits_of(config.workspace);
    return traits.sharing != WorkspaceSharing::None && !traits.per_call;
  }

 private:
  static std::int64_t call_bytes();
  void* at(int index, Product product) const;

  WorkspaceTraits traits_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace engine
