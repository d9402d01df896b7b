// The driver functions the project uses, looked up at run time: linking libcuda would keep the
// worker from starting on a machine without a driver.
#pragma once

#include <cuda.h>

#include "engine/model/error.h"

namespace engine {

/// Graph introspection goes through the driver: the runtime's getters refuse kernel nodes whose
/// functions another copy of the runtime loaded, which is what cuBLASLt's are.
struct DriverApi {
  decltype(&::cuGraphGetNodes) graph_get_nodes = nullptr;
  decltype(&::cuGraphGetEdges) graph_get_edges = nullptr;  // with edge data
  decltype(&::cuGraphNodeGetType) graph_node_get_type = nullptr;
  decltype(&::cuGraphKernelNodeGetParams) graph_kernel_node_get_params = nullptr;
  decltype(&::cuFuncGetName) func_get_name = nullptr;
  decltype(&::cuKernelGetName) kernel_get_name = nullptr;
};

/// An error names the first function that the driver does not have.
Result<DriverApi> load_driver_api();

}  // namespace engine
