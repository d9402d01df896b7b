#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/model/path_text.h"

namespace profiling {
namespace {

using engine::file_name;

constexpr std::size_t kMostEvents = 1000;   // of one capture
constexpr std::size_t kMostFailures = 100;  // captures that failed
constexpr std::size_t kMostLibraries = 4096;
constexpr std::size_t kMostOpenCaptures = 4096;

/// The word that people know a program by: the first one after an interpreter that is no option,
/// else the program.
std::string program_name(std::string_view command) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < command.size() && words.size() < 64;) {
    const std::size_t end = std::min(command.find('\0', at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty()) return {};
  const std::string_view program = file_name(words.front());
  if (program.starts_with("python")) {
    for (std::size_t w = 1; w < words.size(); ++w) {
      if (words[w] == "-m" && w + 1 < words.size()) return std::string(words[w + 1]);
      if (!words[w].starts_with('-')) return std::string(file_name(words[w]));
      if (words[w] == "-c") break;
    }
  }
  return std::string(program);
}
/// Of the call's name; none = a query, which only matters if it was refused.
std::optional<CaptureEvent::Kind> kind_of_call(std::string_view name, std::uint32_t result) {
  using Kind = CaptureEvent::Kind;
  if (name.find("Alloc") != std::string_view::npos ||
      name.find("Register") != std::string_view::npos ||
      name.find("OpenMem") != std::string_view::npos) {
    return Kind::Allocation;
  }
  if (name.find("Free") != std::string_view::npos ||
      name.find("Unregister") != std::string_view::npos ||
      name.find("Unmap") != std::string_view::npos ||
      name.find("CloseMem") != std::string_view::npos) {
    return Kind::Release;
  }
  if (name.find("Query") != std::string_view::npos && result == 0) return std::nullopt;
  return Kind::HostSync;
}

}  // namespace

std::string_view capture_error_name(std::uint32_t code) {
  constexpr std::array<std::string_view, 9> kNames = {
      "cudaErrorStreamCaptureUnsupported", "cudaErrorStreamCaptureInvalidated",
      "cudaErrorStreamCaptureMerge",       "cudaErrorStreamCaptureUnmatched",
      "cudaErrorStreamCaptureUnjoined",    "cudaErrorStreamCaptureIsolation",
      "cudaErrorStreamCaptureImplicit",    "cudaErrorCapturedEvent",
      "cudaErrorStreamCaptureWrongThread"};
  constexpr std::uint32_t kFirst = 900;
  return code >= kFirst && code - kFirst < kNames.size() ? kNames[code - kFirst]
                                                         : std::string_view();
}

std::string graph_name(std::uint64_t number) { return fmt::format("graph {}", number); }

std::string ObservedProcess::title() const {
  const std::string name = program_.empty() ? "a program" : program_;
  const std::string rank = rank_ < 0 ? "" : fmt::format(", rank {}", rank_);
  return fmt::format("{} (process {}{})", name, process_, rank);
}

std::string ObservedProcess::thread_text(std::uint32_t thread) const {
  const auto known = threads_.find(thread);
  return known == threads_.end() ? fmt::format("thread {}", thread)
                                 : fmt::format("thread {} \"{}\"", thread, known->second);
}

void ObservedProcess::take(const SpoolFrame& frame) {
  clock_ = std::max(clock_, frame.position);
  switch (frame.kind) {
    case spool::Kind::Process:
      return take_process(frame);
    case spool::Kind::Driver:
      return take_driver(frame);
    case spool::Kind::Device:
      return take_device(frame);
    case spool::Kind::Library:
      return take_library(frame);
    case spool::Kind::Thread:
      return take_thread(frame);
    case spool::Kind::Allocation:
      return take_allocation(frame);
    case spool::Kind::Release:
      return take_release(frame);
    case spool::Kind::CaptureBegan:
      return take_capture_began(frame);
    case spool::Kind::CaptureEnded:
      return take_capture_ended(frame);
    case spool::Kind::Call:
      return take_call(frame);
    case spool::Kind::Function:
      return take_function(frame);
    case spool::Kind::GraphMarked:
      return take_marked(frame);
    case spool::Kind::MarkerState:
      return take_marker_state(frame);
    case spool::Kind::GraphBegan:
      return take_graph_began(frame);
    case spool::Kind::Node:
      return take_node(frame);
    case spool::Kind::Edges:
      return take_edges(frame);
    case spool::Kind::GraphRead:
      return take_graph_read(frame);
    case spool::Kind::NodeChanged:
      return take_change(frame);
    case spool::Kind::NodeCall:
      return take_node_call(frame);
    case spool::Kind::GraphDestroyed:
      return take_destroyed(frame);
    case spool::Kind::ModuleUnloaded:
      return take_unloaded(frame);
    case spool::Kind::Address:
      return take_address(frame);
    case spool::Kind::Stack:
      return take_stack(frame);
    case spool::Kind::Communicator:
      return take_communicator(frame);
    case spool::Kind::CommunicatorCaptured:
      return take_communicator_captured(frame);
    case spool::Kind::CommunicatorEnded:
      return take_communicator_ended(frame);
    case spool::Kind::EagerLaunch:
      return take_eager_launch(frame);
    case spool::Kind::Body:
      return take_body(frame);
    case spool::Kind::TensorBlock:
      return take_block(frame);
    case spool::Kind::TensorBlockReleased:
      return take_block_released(frame);
    case spool::Kind::ReplayCompared:
      return take_compared(frame);
    case spool::Kind::ComparisonsStopped:
      return take_comparisons_stopped(frame);
    case spool::Kind::TensorMap:
      return take_tensor_map(frame);
  }
}

void ObservedProcess::take(const SpoolState& state) {
  process_ = state.process;
  lost_frames_ = state.lost_frames;
  ended_ = state.ended;
  launches_ = launches_of_destroyed_;
  for (const GraphLaunches& counted : state.graphs) {
    launches_ += counted.launches;
    ObservedGraph* graph = find(counted.graph);
    if (graph == nullptr || graph->exec != counted.exec) continue;
    graph->graph.launches =
        static_cast<std::int64_t>(std::min<std::uint64_t>(counted.launches, 1ULL << 62));
    graph->graph.last_launch = counted.last_launch;
  }
}

// ---- The process -------------------------------------------------------------------------------

void ObservedProcess::take_process(const SpoolFrame& frame) {
  spool::Process process{};
  if (!frame.read(process)) return;
  rank_ = std::max(process.rank, -1);
  program_ =
      program_name(frame.text_after(sizeof process, process.program_bytes, process.command_bytes));
}

void ObservedProcess::take_driver(const SpoolFrame& frame) {
  spool::Driver driver{};
  if (!frame.read(driver)) return;
  driver_ = frame.text_after(sizeof driver, 0, driver.release_bytes);
  if (driver.cuda_version > 0) {
    cuda_version_ =
        fmt::format("{}.{}", driver.cuda_version / 1000, driver.cuda_version % 1000 / 10);
  }
}

void ObservedProcess::take_device(const SpoolFrame& frame) {
  spool::Device device{};
  if (!frame.read(device)) return;
  device_ = frame.text_after(sizeof device, 0, device.name_bytes);
  pci_bus_id_ = frame.text_after(sizeof device, device.name_bytes, device.pci_bytes);
  compute_capability_ = fmt::format("{}.{}", device.capability_major, device.capability_minor);
}

void ObservedProcess::take_library(const SpoolFrame& frame) {
  spool::Library library{};
  if (!frame.read(library) || libraries_.size() >= kMostLibraries) return;
  libraries_.push_back(
      {.path = std::string(frame.text_after(sizeof library, 0, library.path_bytes)),
       .version = std::string(
           frame.text_after(sizeof library, library.path_bytes, library.version_bytes))});
}

void ObservedProcess::take_thread(const SpoolFrame& frame) {
  spool::Thread thread{};
  if (frame.read(thread))
    threads_[frame.thread] = frame.text_after(sizeof thread, 0, thread.name_bytes);
}
// ---- Captures ----------------------------------------------------------------------------------

void ObservedProcess::take_capture_began(const SpoolFrame& frame) {
  spool::CaptureBegan began{};
  if (!frame.read(began) || began.result != 0 || open_captures_.size() >= kMostOpenCaptures) return;
  open_captures_[began.stream] = {.number = ++captures_begun_,
                                  .began = frame.position,
                                  .ended = 0,
                                  .thread = frame.thread,
                                  .mode = began.mode,
                                  .events = {},
                                  .communicators = {},
                                  .made = {}};
}

void ObservedProcess::take_capture_ended(const SpoolFrame& frame) {
  spool::CaptureEnded ended{};
  if (!frame.read(ended)) return;
  const auto open = open_captures_.find(ended.stream);
  if (open == open_captures_.end()) return;
  Capture capture = std::move(open->second);
  open_captures_.erase(open);
  capture.ended = frame.position;
  if (ended.result == 0) {
    if (const auto used = open_communicators_.find(ended.graph);
        used != open_communicators_.end()) {
      // A graph whose capture failed earlier may have had the same handle.
      std::erase_if(used->second,
                    [&](const ObservedCommunicator& one) { return one.last_used < capture.began; });
      capture.communicators = std::move(used->second);
      open_communicators_.erase(used);
    }
    if (captures_.size() < kMostOpenCaptures || captures_.contains(ended.graph)) {
      captures_[ended.graph] = std::move(capture);
    }
    return;
  }
  if (failed_captures_.size() >= kMostFailures) return;
  GraphSnapshot failed;
  failed.name = fmt::format("capture {}", capture.number);
  failed.capture_began = capture.began;
  failed.capture_ended = capture.ended;
  failed.failure = {.code = static_cast<int>(std::min<std::uint32_t>(ended.result, 1 << 20)),
                    .name = std::string(capture_error_name(ended.result)),
                    .call = fmt::format("cuStreamEndCapture by {}", thread_text(capture.thread))};
  failed.events = std::move(capture.events);
  failed_captures_.push_back(std::move(failed));
}

void ObservedProcess::take_call(const SpoolFrame& frame) {
  spool::Call call{};
  if (!frame.read(call)) return;
  const std::string_view name = frame.text_after(sizeof call, 0, call.name_bytes);
  const std::optional<CaptureEvent::Kind> kind = kind_of_call(name, call.result);
  if (!kind) return;
  constexpr std::uint32_t kGlobal =
      0;  // CU_STREAM_CAPTURE_MODE_GLOBAL: no thread may make such a call
  for (auto& [stream, capture] : open_captures_) {
    const bool own = capture.thread == frame.thread;
    if ((!own && capture.mode != kGlobal) || capture.events.size() >= kMostEvents) continue;
    capture.events.push_back(
        {.kind = *kind,
         .what = std::string(name),
         .code = static_cast<int>(std::min<std::uint32_t>(call.result, 1 << 20)),
         .other_thread = own ? "" : thread_text(frame.thread)});
  }
}
}  // namespace profiling
