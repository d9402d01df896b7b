// The driver's functions with which this library reads graphs and kernels.
#pragma once

#include "profiling/attach/preload/driver_names.h"

namespace attach {

/// The driver's functions that reading needs, by the symbols of libcuda; those of newer drivers may
/// be missing.
struct GraphApi {
  decltype(&::cuGraphGetNodes) get_nodes;
  decltype(&::cuGraphGetEdges_v2) get_edges;
  decltype(&::cuGraphNodeGetType) get_type;
  decltype(&::cuGraphKernelNodeGetParams_v2) get_kernel;
  decltype(&::cuGraphKernelNodeGetAttribute) get_attribute;
  decltype(&::cuGraphMemsetNodeGetParams) get_memset;
  decltype(&::cuGraphMemcpyNodeGetParams) get_memcpy;
  decltype(&::cuGraphMemAllocNodeGetParams) get_alloc;
  decltype(&::cuGraphMemFreeNodeGetParams) get_free;
  decltype(&::cuGraphChildGraphNodeGetGraph) get_child;
  CUresult (*get_parameters)(CUgraphNode, CUgraphNodeParams*);  // cuGraphNodeGetParams, 13.2
  decltype(&::cuFuncGetParamInfo) function_parameter;
  decltype(&::cuKernelGetParamInfo) kernel_parameter;
  decltype(&::cuFuncGetName) function_name;
  decltype(&::cuKernelGetName) kernel_name;
  decltype(&::cuFuncGetModule) function_module;
  decltype(&::cuKernelGetLibrary) kernel_library;
  decltype(&::cuPointerGetAttribute) pointer_attribute;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_mode;
  bool complete;  // all that reading a graph needs
};

/// Looked up once: by whichever thread needs it first, and again by any that arrives meanwhile.
const GraphApi& graph_api();

/// Own calls of the driver must not end a capture of the program.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const GraphApi& api) : api_(api) { api_.exchange_mode(&mode_); }
  ~RelaxedCapture() { api_.exchange_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const GraphApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace attach
