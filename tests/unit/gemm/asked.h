// What the gates are asked about.
#pragma once

#include "engine/gemm/support.h"

namespace engine {

inline DeviceCapability hopper(long version) {
  return {.cuda = true, .compute_major = 9, .compute_minor = 0, .cublaslt_version = version};
}

inline Recipe recipe(Scaling scaling) {
  Recipe made;
  made.scaling = scaling;
  return made;
}

inline RunRequest shared_block_graph() {
  RunRequest request;
  request.backend = GemmBackend::CublasLtGrouped;
  request.recipe.scaling = Scaling::Block;
  request.workspace = WorkspaceStrategy::Shared;
  request.launch.kind = LaunchKind::GraphReplay;
  request.layers = 2;
  return request;
}

}  // namespace engine
