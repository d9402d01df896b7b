// The life of a record buffer: CUPTI requests an empty one and returns it full; our own thread
// parses it. CUPTI's callbacks, which may run inside a launch, only move pointers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/guarded_thread.h"
#include "profiling/cupti/attribution.h"
#include "profiling/cupti/cupti_library.h"
#include "profiling/cupti/event_records.h"

namespace profiling {

class RecordBuffers {
 public:
  explicit RecordBuffers(const CuptiLibrary& cupti);
  ~RecordBuffers();
  RecordBuffers(const RecordBuffers&) = delete;
  RecordBuffers& operator=(const RecordBuffers&) = delete;

  /// Called by CUPTI on any thread.
  std::uint8_t* borrow(std::size_t& bytes);
  void give_back(std::uint8_t* buffer, std::size_t valid_bytes);

  /// Records parsed since the last call, once every returned buffer has been parsed.
  RawActivity drain();
  /// Records that drain() does not return: those whose end CUPTI never saw, and one for every
  /// buffer whose rest could not be read, since its number of records is unknown. For the whole
  /// process so far; current after drain().
  std::uint64_t lost() const { return lost_; }
  /// Why a buffer could not be read to the end: the first reason since the last call, else success.
  CUptiResult take_read_error() { return std::exchange(read_error_, CUPTI_SUCCESS); }

 private:
  struct Full {
    std::uint8_t* buffer = nullptr;
    std::size_t valid_bytes = 0;
  };

  void parse_until_stopped();
  void parse_no_more();
  void parse(const Full& full);
  void add(const CUpti_Activity& record);
  void add_record(RawRecord record, const std::string& name);
  void add_call(const CUpti_ActivityAPI& call);
  std::uint32_t number_of(const LaunchShape& shape);

  const CuptiLibrary& cupti_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<std::uint8_t[]>> all_;
  std::vector<std::uint8_t*> empty_;
  std::deque<Full> full_;
  bool parsing_ = false;
  bool stop_ = false;
  bool failed_ = false;  // there is no thread: what CUPTI gives back is lost

  // Touched by the parsing thread, and by drain() while that thread is idle.
  RawActivity parsed_;
  EventRecords events_;
  std::unordered_map<std::string, std::uint32_t> name_index_;
  std::unordered_map<std::string, std::string> readable_;  // symbol -> demangled
  std::map<LaunchShape, std::uint32_t> shape_numbers_;     // from 1, in parsed_.shapes
  std::uint64_t lost_ = 0;
  CUptiResult read_error_ = CUPTI_SUCCESS;

  engine::GuardedThread thread_;  // last member: starts when everything else is constructed
};

// The parts of CUPTI that exist once per process: the library and the exchange of record buffers.

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
