// CUPTI's records of non-kernel events: memory, overheads and NVTX ranges. Read on the parsing
// thread of RecordBuffers.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

/// Times are CUPTI's.
struct RawHostEvent {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;  // of the API call it belongs to; 0 = none
  std::uint32_t thread = 0;
  HostEventKind kind = HostEventKind::Other;
  std::string name;
};

struct RawMemoryEvent {
  MemoryEvent event;  // time_ns is CUPTI's; iteration, layer and stage are not filled in
  std::uint32_t correlation = 0;
};

struct RawEvents {
  std::vector<RawHostEvent> host;
  std::vector<RawMemoryEvent> memory;
  std::uint64_t left_out = 0;  // beyond kMaxHostEvents and kMaxMemoryEvents
};

class EventRecords {
 public:
  /// False for a record of another kind.
  bool add(const CUpti_Activity& record);
  /// Events added since the last call. A range that is still open is kept until it ends.
  RawEvents take();

 private:
  struct OpenRange {
    std::uint64_t start_ns = 0;
    std::uint32_t thread = 0;
    std::string name;
  };

  void add_overhead(const CUpti_ActivityOverhead3& record);
  void add_marker(const CUpti_ActivityMarker2& record);
  void add_memory(const CUpti_ActivityMemory4& record);
  void add_pool(const CUpti_ActivityMemoryPool3& record);
  void keep(RawHostEvent event);
  void keep(const RawMemoryEvent& event);

  RawEvents events_;
  std::unordered_map<std::uint32_t, OpenRange> open_;  // by marker id
};

}  // namespace profiling
