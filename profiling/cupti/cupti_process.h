// The parts of CUPTI that exist once per process: the library and the exchange of record buffers.
#pragma once

#include "engine/model/error.h"
#include "profiling/cupti/cupti_library.h"
#include "profiling/cupti/record_buffers.h"

namespace profiling {

struct CuptiProcess {
  CuptiLibrary library;
  RecordBuffers buffers{library};

  /// CUPTI gets its buffers from `buffers` and returns them to it. Call after subscribing.
  engine::Status exchange_buffers() const;
};

/// Created by the first successful call and never freed: CUPTI's callbacks carry no user pointer,
/// and it may hold a buffer until the process ends. Callable from any thread.
engine::Result<CuptiProcess*> cupti_process();

}  // namespace profiling
