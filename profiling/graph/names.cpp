#include "profiling/graph/names.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace profiling {
namespace {

template <std::size_t kCount, class Enum>
std::string_view pick(const std::array<std::string_view, kCount>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < kCount ? names[index] : "unknown";
}

}  // namespace

std::string_view name_of(NodeType type) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "kernel",          "memcpy",      "memset",       "host call",        "child graph",
      "empty",           "event wait",  "event record", "semaphore signal", "semaphore wait",
      "memory allocate", "memory free", "memory write", "conditional"};
  return pick(kNames, type);
}

std::string_view name_of(EdgeKind kind) {
  static constexpr std::array<std::string_view, 3> kNames = {"full", "programmatic",
                                                             "launch order"};
  return pick(kNames, kind);
}

std::string_view name_of(Confidence confidence) {
  static constexpr std::array<std::string_view, 4> kNames = {"possible", "likely", "proved",
                                                             "disproved"};
  return pick(kNames, confidence);
}

std::string_view name_of(Verdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames = {"right",   "wrong",   "hung",
                                                             "refused", "crashed", "not run"};
  return pick(kNames, verdict);
}

std::string_view name_of(NodeState state) {
  static constexpr std::array<std::string_view, 4> kNames = {"not reached", "running", "done",
                                                             "unmarked"};
  return pick(kNames, state);
}

std::string_view name_of(StallKind kind) {
  static constexpr std::array<std::string_view, 4> kNames = {"a kernel spins", "nothing runs",
                                                             "the host is blocked", "unknown"};
  return pick(kNames, kind);
}

std::string_view name_of(CaptureEvent::Kind kind) {
  static constexpr std::array<std::string_view, 4> kNames = {
      "a kernel was loaded", "memory was allocated", "memory was released", "the host waited"};
  return pick(kNames, kind);
}

std::string_view name_of(engine::AllocationRole role) {
  static constexpr std::array<std::string_view, 12> kNames = {"unknown",
                                                              "input",
                                                              "output",
                                                              "quantized",
                                                              "workspace",
                                                              "pointer array",
                                                              "splits",
                                                              "counter",
                                                              "check",
                                                              "tickets",
                                                              "known to the driver",
                                                              "known from a CUPTI record"};
  return pick(kNames, role);
}

std::string_view name_of(engine::MemorySpace space) {
  static constexpr std::array<std::string_view, 5> kNames = {"unknown", "device", "pinned host",
                                                             "pageable host", "managed"};
  return pick(kNames, space);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
  if (bytes != 0 && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes != 0 && bytes % kKiB == 0) return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} bytes", bytes);
}

std::string deadline_text(const Stall& stall) {
  std::string text = fmt::format("deadline {:.3g} s", stall.deadline_seconds);
  if (stall.p99_seconds > 0.0) {
    text +=
        fmt::format("; 99 % of the replays before took {:.4g} us or less", 1e6 * stall.p99_seconds);
  }
  return text;
}

}  // namespace profiling
