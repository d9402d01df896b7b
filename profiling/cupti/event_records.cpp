#include "profiling/cupti/event_records.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "engine/observe/stage_range.h"

namespace profiling {
namespace {

struct OverheadName {
  HostEventKind kind = HostEventKind::Other;
  const char* name = "";
};

OverheadName name_of(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return {HostEventKind::Compiler, "driver compiler"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return {HostEventKind::Tracing, "CUPTI buffer flush"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return {HostEventKind::Tracing, "CUPTI instrumentation"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return {HostEventKind::Tracing, "CUPTI resources"};
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return {HostEventKind::Tracing, "CUPTI buffer request"};
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return {HostEventKind::ModuleLoading, "module loading"};
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return {HostEventKind::LazyLoading, ""};
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return {HostEventKind::QueueFull, "launch queue full"};
    default:
      return {HostEventKind::Other, "overhead of an unknown kind"};
  }
}

engine::MemorySpace space_of(CUpti_ActivityMemoryKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return engine::MemorySpace::PageableHost;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return engine::MemorySpace::PinnedHost;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return engine::MemorySpace::Device;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return engine::MemorySpace::Managed;
    default:
      return engine::MemorySpace::Unknown;
  }
}

}  // namespace

bool EventRecords::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      add_overhead(reinterpret_cast<const CUpti_ActivityOverhead3&>(record));
      return true;
    case CUPTI_ACTIVITY_KIND_MARKER:
      add_marker(reinterpret_cast<const CUpti_ActivityMarker2&>(record));
      return true;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      add_memory(reinterpret_cast<const CUpti_ActivityMemory4&>(record));
      return true;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      add_pool(reinterpret_cast<const CUpti_ActivityMemoryPool3&>(record));
      return true;
    default:
      return false;
  }
}

RawEvents EventRecords::take() { return std::exchange(events_, {}); }

void EventRecords::add_overhead(const CUpti_ActivityOverhead3& record) {
  const OverheadName what = name_of(record.overheadKind);
  const bool thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  // The details of this kind are memory that the reader must free.
  if (what.kind == HostEventKind::QueueFull) std::free(record.overheadData);
  if (record.end < record.start || record.end == 0) {
    ++events_.left_out;
    return;
  }
  keep(RawHostEvent{.start_ns = record.start,
                    .end_ns = record.end,
                    .correlation = record.correlationId,
                    .thread = thread ? record.objectId.pt.threadId : 0,
                    .kind = what.kind,
                    .name = what.name});
}

void EventRecords::add_marker(const CUpti_ActivityMarker2& record) {
  if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    // Ignore ranges of other libraries in this process.
    if (record.domain == nullptr || record.name == nullptr) return;
    if (std::string_view(record.domain) != engine::kRangeDomain) return;
    open_[record.id] = {.start_ns = record.timestamp,
                        .thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD
                                      ? record.objectId.pt.threadId
                                      : 0,
                        .name = record.name};
  } else if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    auto opened = open_.extract(record.id);
    if (opened.empty()) return;
    OpenRange& range = opened.mapped();
    if (record.timestamp < range.start_ns) {
      ++events_.left_out;
      return;
    }
    keep(RawHostEvent{.start_ns = range.start_ns,
                      .end_ns = record.timestamp,
                      .correlation = 0,
                      .thread = range.thread,
                      .kind = HostEventKind::StageRange,
                      .name = std::move(range.name)});
  }
}

void EventRecords::add_memory(const CUpti_ActivityMemory4& record) {
  const auto& pool = record.memoryPoolConfig;
  // The driver reports the fill level of the process's own pools only.
  const bool local = pool.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  keep({.event = {.time_ns = static_cast<std::int64_t>(record.timestamp),
                  .address = record.address,
                  .bytes = record.bytes,
                  .pool = pool.address,
                  .pool_bytes = local ? pool.pool.size : 0,
                  .pool_used = local ? pool.utilizedSize : 0,
                  .operation =
                      record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                          ? MemoryOperation::Release
                          : MemoryOperation::Allocate,
                  .space = space_of(record.memoryKind),
                  .stream_ordered = record.isAsync != 0},
        .correlation = record.correlationId});
}

void EventRecords::add_pool(const CUpti_ActivityMemoryPool3& record) {
  MemoryOperation operation = MemoryOperation::MakePool;
  if (record.memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED) {
    operation = MemoryOperation::EndPool;
  } else if (record.memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED) {
    operation = MemoryOperation::TrimPool;
  }
  keep({.event = {.time_ns = static_cast<std::int64_t>(record.timestamp),
                  .address = record.address,
                  .bytes = operation == MemoryOperation::TrimPool ? record.minBytesToKeep : 0,
                  .pool = record.address,
                  .pool_bytes = record.size,
                  .pool_used = record.utilizedSize,
                  .operation = operation,
                  .space = engine::MemorySpace::Device,
                  .stream_ordered = true},
        .correlation = record.correlationId});
}

void EventRecords::keep(RawHostEvent event) {
  if (events_.host.size() < kMaxHostEvents) {
    events_.host.push_back(std::move(event));
  } else {
    ++events_.left_out;
  }
}

void EventRecords::keep(const RawMemoryEvent& event) {
  if (events_.memory.size() < kMaxMemoryEvents) {
    events_.memory.push_back(event);
  } else {
    ++events_.left_out;
  }
}

}  // namespace profiling
