// The driver functions the project uses, looked up at run time: linking libcuda would keep the
// worker from starting on a machine without a driver.
#pragma once

#include <cuda.h>

#include <string_view>

#include "engine/model/error.h"

namespace engine {

/// Graph introspection goes through the driver: the runtime's getters refuse kernel nodes whose
/// functions were loaded by another copy of the runtime, such as cuBLASLt's.
struct DriverApi {
  decltype(&::cuGraphGetNodes) graph_get_nodes = nullptr;
  decltype(&::cuGraphGetEdges) graph_get_edges = nullptr;  // with edge data
  decltype(&::cuGraphNodeGetType) graph_node_get_type = nullptr;
  decltype(&::cuGraphKernelNodeGetParams) graph_kernel_node_get_params = nullptr;
  decltype(&::cuGraphKernelNodeGetAttribute) graph_kernel_node_get_attribute = nullptr;
  decltype(&::cuGraphMemsetNodeGetParams) graph_memset_node_get_params = nullptr;
  decltype(&::cuGraphMemcpyNodeGetParams) graph_memcpy_node_get_params = nullptr;
  decltype(&::cuGraphMemAllocNodeGetParams) graph_mem_alloc_node_get_params = nullptr;
  decltype(&::cuGraphMemFreeNodeGetParams) graph_mem_free_node_get_params = nullptr;
  decltype(&::cuGraphChildGraphNodeGetGraph) graph_child_graph_node_get_graph = nullptr;
  decltype(&::cuGraphAddBatchMemOpNode) graph_add_batch_mem_op_node = nullptr;
  decltype(&::cuGraphAddDependencies) graph_add_dependencies = nullptr;        // with edge data
  decltype(&::cuGraphRemoveDependencies) graph_remove_dependencies = nullptr;  // with edge data
  decltype(&::cuGraphExecKernelNodeSetParams) graph_exec_kernel_node_set_params = nullptr;
  decltype(&::cuGraphExecMemsetNodeSetParams) graph_exec_memset_node_set_params = nullptr;
  decltype(&::cuGraphExecMemcpyNodeSetParams) graph_exec_memcpy_node_set_params = nullptr;
  decltype(&::cuFuncGetParamInfo) func_get_param_info = nullptr;
  decltype(&::cuKernelGetParamInfo) kernel_get_param_info = nullptr;
  decltype(&::cuPointerGetAttribute) pointer_get_attribute = nullptr;
  decltype(&::cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&::cuFuncGetName) func_get_name = nullptr;
  decltype(&::cuKernelGetName) kernel_get_name = nullptr;
  decltype(&::cuTensorMapEncodeTiled) tensor_map_encode_tiled = nullptr;
};

/// "<doing> failed with driver error <number>".
Status check_driver(CUresult result, std::string_view doing);

/// An error names the first function that the driver lacks.
Result<DriverApi> load_driver_api();

}  // namespace engine
