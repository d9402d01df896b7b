// Fills DriverApi through the runtime's entry point query.
#include "engine/device/driver_api.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "engine/device/check.h"

namespace engine {
namespace {

template <class Function>
Status look_up(const char* name, unsigned version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  ENGINE_CUDA_TRY(
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &query),
      fmt::format("Looking up {} in the driver", name).c_str());
  if (query != cudaDriverEntryPointSuccess || found == nullptr) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("The CUDA driver has no {}; install a driver for CUDA 13", name)};
  }
  function = reinterpret_cast<Function>(found);
  return {};
}

}  // namespace

Status check_driver(CUresult result, std::string_view doing) {
  if (result == CUDA_SUCCESS) return {};
  return Error{ErrorCode::Device,
               fmt::format("{} failed with driver error {}", doing, static_cast<int>(result))};
}

Result<DriverApi> load_driver_api() {
  // The version selects the signature: 12.3 added edge data to cuGraphGetEdges, 12.0 the kernel
  // node parameters their CUkernel; CUDA 13's header declares the same forms.
  constexpr unsigned kVersion = 13000;
  DriverApi api;
  ENGINE_TRY(look_up("cuGraphGetNodes", kVersion, api.graph_get_nodes));
  ENGINE_TRY(look_up("cuGraphGetEdges", kVersion, api.graph_get_edges));
  ENGINE_TRY(look_up("cuGraphNodeGetType", kVersion, api.graph_node_get_type));
  ENGINE_TRY(look_up("cuGraphKernelNodeGetParams", kVersion, api.graph_kernel_node_get_params));
  ENGINE_TRY(
      look_up("cuGraphKernelNodeGetAttribute", kVersion, api.graph_kernel_node_get_attribute));
  ENGINE_TRY(look_up("cuGraphMemsetNodeGetParams", kVersion, api.graph_memset_node_get_params));
  ENGINE_TRY(look_up("cuGraphMemcpyNodeGetParams", kVersion, api.graph_memcpy_node_get_params));
  ENGINE_TRY(
      look_up("cuGraphMemAllocNodeGetParams", kVersion, api.graph_mem_alloc_node_get_params));
  ENGINE_TRY(look_up("cuGraphMemFreeNodeGetParams", kVersion, api.graph_mem_free_node_get_params));
  ENGINE_TRY(
      look_up("cuGraphChildGraphNodeGetGraph", kVersion, api.graph_child_graph_node_get_graph));
  ENGINE_TRY(look_up("cuGraphAddBatchMemOpNode", kVersion, api.graph_add_batch_mem_op_node));
  ENGINE_TRY(look_up("cuGraphAddDependencies", kVersion, api.graph_add_dependencies));
  ENGINE_TRY(look_up("cuGraphRemoveDependencies", kVersion, api.graph_remove_dependencies));
  ENGINE_TRY(
      look_up("cuGraphExecKernelNodeSetParams", kVersion, api.graph_exec_kernel_node_set_params));
  ENGINE_TRY(
      look_up("cuGraphExecMemsetNodeSetParams", kVersion, api.graph_exec_memset_node_set_params));
  ENGINE_TRY(
      look_up("cuGraphExecMemcpyNodeSetParams", kVersion, api.graph_exec_memcpy_node_set_params));
  ENGINE_TRY(look_up("cuFuncGetParamInfo", kVersion, api.func_get_param_info));
  ENGINE_TRY(look_up("cuKernelGetParamInfo", kVersion, api.kernel_get_param_info));
  ENGINE_TRY(look_up("cuPointerGetAttribute", kVersion, api.pointer_get_attribute));
  ENGINE_TRY(look_up("cuCtxGetCurrent", kVersion, api.ctx_get_current));
  ENGINE_TRY(look_up("cuFuncGetName", kVersion, api.func_get_name));
  ENGINE_TRY(look_up("cuKernelGetName", kVersion, api.kernel_get_name));
  ENGINE_TRY(look_up("cuTensorMapEncodeTiled", kVersion, api.tensor_map_encode_tiled));
  return api;
}

}  // namespace engine
