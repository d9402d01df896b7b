// Chrome trace events, written as a stream: a recording of millions of records is never held in
// memory as text. Numbers are formatted directly, strings by the JSON library.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "profiling/export/replaced_file.h"

namespace profiling {

inline std::string json_string(const std::string& text) {
  // Names from a file may contain any bytes: invalid UTF-8 becomes a replacement character.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Nanoseconds as decimal microseconds; a double would round away nanoseconds of a long recording.
inline std::string microseconds(std::int64_t time_ns) {
  const bool negative = time_ns < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(time_ns) : static_cast<std::uint64_t>(time_ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

class TraceWriter {
 public:
  explicit TraceWriter(ReplacedFile& file) : file_(file) {}

  void begin(std::uint64_t shift_ns) {
    // The format's times are microseconds; "ns" only selects the viewer's display unit.
    text_ += fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"shift_ns\":{}}},\"traceEvents\":[",
        shift_ns);
  }

  void process(int process, int order, const std::string& name) {
    metadata(process, 0, "process_name", name);
    sort_index(process, 0, "process_sort_index", order);
  }
  void thread(int process, int track, const std::string& name) {
    metadata(process, track, "thread_name", name);
    sort_index(process, track, "thread_sort_index", track);
  }

  /// A value that holds from this time on.
  void counter(int process, std::string_view name, std::string_view unit, std::int64_t time_ns,
               double value) {
    event(
        fmt::format("{{\"ph\":\"C\",\"pid\":{},\"tid\":0,\"name\":\"{}\",\"ts\":{},"
                    "\"args\":{{\"{}\":{}}}}}",
                    process, name, microseconds(time_ns), unit, value));
  }

  /// An instant on a track.
  void instant(int process, int track, std::string_view name, std::string_view category,
               std::int64_t time_ns, std::string_view args) {
    event(
        fmt::format("{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{},\"tid\":{},\"name\":\"{}\","
                    "\"cat\":\"{}\",\"ts\":{},\"args\":{{{}}}}}",
                    process, track, name, category, microseconds(time_ns), args));
  }

  void slice(int process, int track, std::string_view quoted_name, std::string_view category,
             std::int64_t start_ns, std::int64_t duration_ns, std::string_view args) {
    event(
        fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":\"{}\",\"ts\":{},"
                    "\"dur\":{},\"args\":{{{}}}}}",
                    process, track, quoted_name, category, microseconds(start_ns),
                    microseconds(duration_ns), args));
  }

  void end() {
    text_ += "\n]}\n";
    flush();
  }

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

  void metadata(int process, int track, const char* what, const std::string& name) {
    event(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}", process,
        track, what, json_string(name)));
  }

  void sort_index(int process, int track, const char* what, int index) {
    event(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"sort_index\":{}}}}}",
        process, track, what, index));
  }

  void event(const std::string& line) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += line;
    if (text_.size() >= kFlushBytes) flush();
  }
  void flush() {
    file_.write(text_);
    text_.clear();
  }

  ReplacedFile& file_;
  std::string text_;
  bool first_ = true;
};

}  // namespace profiling
