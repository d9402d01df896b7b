// CUPTI's functions, loaded at run time: the worker also starts where CUPTI is not installed.
#pragma once

#include <cupti.h>

#include <string>

#include "engine/model/error.h"

namespace profiling {

struct CuptiLibrary {
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) get_num_dropped_records = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
  decltype(&::cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;

  /// "<doing> failed: <CUPTI's text>", with a remedy if there is one.
  engine::Error error(CUptiResult result, const char* doing) const;
};

/// From then on CUPTI also receives the NVTX ranges of this process, unless NVTX was given another
/// tool or has already been used.
engine::Result<CuptiLibrary> load_cupti();

}  // namespace profiling
