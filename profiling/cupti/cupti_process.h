// What of CUPTI there is once a process: the library and the exchange of its record buffers.
#pragma once

#include "engine/model/error.h"
#include "profiling/cupti/cupti_library.h"
#include "profiling/cupti/record_buffers.h"

namespace profiling {

struct CuptiProcess {
  CuptiLibrary library;
  RecordBuffers buffers{library};

  /// CUPTI's buffers come from `buffers` and go back to it. After a subscription.
  engine::Status exchange_buffers() const;
};

/// Made by the first call that succeeds and never freed: CUPTI's callbacks carry no user pointer,
/// and it may hold a buffer until the process ends. From any thread.
engine::Result<CuptiProcess*> cupti_process();

}  // namespace profiling
