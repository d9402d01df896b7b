// Buffer exchange and parsing of CUPTI's records.
#include "profiling/cupti/record_buffers.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "profiling/hazards/model/names.h"

namespace profiling {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20;  // about 9000 kernel records

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "memcpy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "memcpy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "memcpy device to device";
    default:
      return "memcpy";
  }
}

LaunchShape shape_of(const CUpti_ActivityKernel10& kernel) {
  const auto count = [](std::int64_t said) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(said, 0));
  };
  return {.grid_x = count(kernel.gridX),
          .grid_y = count(kernel.gridY),
          .grid_z = count(kernel.gridZ),
          .block_x = count(kernel.blockX),
          .block_y = count(kernel.blockY),
          .block_z = count(kernel.blockZ),
          .registers_per_thread = kernel.registersPerThread,
          .static_shared_bytes = count(kernel.staticSharedMemory),
          .dynamic_shared_bytes = count(kernel.dynamicSharedMemory)};
}

}  // namespace

RecordBuffers::RecordBuffers(const CuptiLibrary& cupti)
    : cupti_(cupti),
      thread_([this] { parse_until_stopped(); },
              [this](const engine::Error&) { parse_no_more(); }) {}

RecordBuffers::~RecordBuffers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint8_t* RecordBuffers::borrow(std::size_t& bytes) {
  bytes = kBufferBytes;
  const std::lock_guard lock(mutex_);
  if (empty_.empty()) {
    // operator new aligns to 16 bytes; CUPTI requires 8.
    all_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kBufferBytes));
    return all_.back().get();
  }
  std::uint8_t* const buffer = empty_.back();
  empty_.pop_back();
  return buffer;
}

void RecordBuffers::give_back(std::uint8_t* buffer, std::size_t valid_bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) {
      ++lost_;
      empty_.push_back(buffer);
      return;
    }
    full_.push_back({.buffer = buffer, .valid_bytes = valid_bytes});
  }
  changed_.notify_all();
}

RawActivity RecordBuffers::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return full_.empty() && !parsing_; });
  name_index_.clear();
  shape_numbers_.clear();
  parsed_.events = events_.take();
  return std::exchange(parsed_, {});
}

void RecordBuffers::parse_until_stopped() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !full_.empty(); });
    if (full_.empty()) return;  // stop requested, and nothing left to parse
    const Full full = full_.front();
    full_.pop_front();
    parsing_ = true;
    lock.unlock();
    const engine::Status parsed = engine::guarded([&]() -> engine::Status {
      parse(full);
      return {};
    });
    lock.lock();
    if (!parsed.ok()) {
      ++lost_;
      if (read_error_ == CUPTI_SUCCESS) read_error_ = CUPTI_ERROR_OUT_OF_MEMORY;
    }
    empty_.push_back(full.buffer);
    parsing_ = false;
    changed_.notify_all();
  }
}

/// Nobody waits in drain() for a thread that has ended, or that never was.
void RecordBuffers::parse_no_more() {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    parsing_ = false;
    lost_ += full_.size();
    full_.clear();
    read_error_ = CUPTI_ERROR_UNKNOWN;
  }
  changed_.notify_all();
}

void RecordBuffers::parse(const Full& full) {
  if (full.valid_bytes == 0) return;
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = cupti_.get_next_record(full.buffer, full.valid_bytes, &record)) ==
         CUPTI_SUCCESS) {
    add(*record);
  }
  if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return;  // the end of the buffer
  ++lost_;
  if (read_error_ == CUPTI_SUCCESS) read_error_ = result;
}

void RecordBuffers::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      // Later CUPTI versions append fields; the ones read here keep their offsets.
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      const std::string symbol = kernel.name == nullptr ? "" : kernel.name;
      auto readable = readable_.find(symbol);
      if (readable == readable_.end()) {
        readable = readable_.emplace(symbol, readable_kernel_name(kernel.name)).first;
      }
      return add_record({.start_ns = kernel.start,
                         .end_ns = kernel.end,
                         .node_id = kernel.graphNodeId,
                         .correlation = kernel.correlationId,
                         .stream = kernel.streamId,
                         .kind = ActivityKind::Kernel,
                         .shape = number_of(shape_of(kernel))},
                        readable->second);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      return add_record({.start_ns = copy.start,
                         .end_ns = copy.end,
                         .node_id = copy.graphNodeId,
                         .correlation = copy.correlationId,
                         .stream = copy.streamId,
                         .kind = ActivityKind::Memcpy,
                         .shape = number_of({.bytes = copy.bytes})},
                        copy_name(copy.copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      return add_record({.start_ns = set.start,
                         .end_ns = set.end,
                         .node_id = set.graphNodeId,
                         .correlation = set.correlationId,
                         .stream = set.streamId,
                         .kind = ActivityKind::Memset,
                         .shape = number_of({.bytes = set.bytes})},
                        "memset");
    }
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
      const auto& graph = reinterpret_cast<const CUpti_ActivityGraphTrace2&>(record);
      return add_record({.start_ns = graph.start,
                         .end_ns = graph.end,
                         .correlation = graph.correlationId,
                         .stream = graph.streamId,
                         .kind = ActivityKind::Graph},
                        "graph launch");
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& external = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
      parsed_.places[external.correlationId] = external.externalId;
      return;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(reinterpret_cast<const CUpti_ActivityAPI&>(record));
    default:
      (void)events_.add(record);
      return;
  }
}

void RecordBuffers::add_call(const CUpti_ActivityAPI& call) {
  // Most calls launch nothing; only those that did are kept in the end.
  if (parsed_.calls.size() >= 4 * kMaxCalls && !parsed_.calls.contains(call.correlationId)) return;
  const bool runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  RawCall made{.start_ns = call.start, .end_ns = std::max(call.start, call.end)};
  const CUptiResult named = cupti_.get_callback_name(
      runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, &made.name);
  if (named != CUPTI_SUCCESS) made.name = nullptr;
  // The runtime's call is the one the program made, if there is also the driver's within it.
  runtime ? parsed_.calls.insert_or_assign(call.correlationId, made)
          : parsed_.calls.emplace(call.correlationId, made);
}

std::uint32_t RecordBuffers::number_of(const LaunchShape& shape) {
  const auto known = shape_numbers_.find(shape);
  if (known != shape_numbers_.end()) return known->second;
  if (parsed_.shapes.size() == kMaxShapes) return 0;
  parsed_.shapes.push_back(shape);
  const auto number = static_cast<std::uint32_t>(parsed_.shapes.size());
  shape_numbers_.emplace(shape, number);
  return number;
}

void RecordBuffers::add_record(RawRecord record, const std::string& name) {
  if (record.end_ns == 0 || record.end_ns < record.start_ns) {
    ++lost_;
    return;
  }
  const auto [index, inserted] =
      name_index_.emplace(name, static_cast<std::uint32_t>(parsed_.names.size()));
  if (inserted) parsed_.names.push_back(name);
  record.name = index->second;
  parsed_.records.push_back(record);
}

namespace {

std::atomic<CuptiProcess*> process{nullptr};

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *max_records = 0;  // as many as fit
  *buffer = process.load()->buffers.borrow(*size);
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  process.load()->buffers.give_back(buffer, valid_bytes);
}

}  // namespace

engine::Status CuptiProcess::exchange_buffers() const {
  const CUptiResult registered = library.register_callbacks(&buffer_requested, &buffer_completed);
  if (registered != CUPTI_SUCCESS) return library.error(registered, "Registering CUPTI's buffers");
  return {};
}

engine::Result<CuptiProcess*> cupti_process() {
  static std::mutex making;
  const std::lock_guard lock(making);
  if (process.load() == nullptr) {
    ENGINE_ASSIGN(CuptiLibrary loaded, load_cupti());
    process.store(new CuptiProcess{.library = loaded});
  }
  return process.load();
}

}  // namespace profiling
