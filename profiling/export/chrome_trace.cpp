// Chrome trace events, written as a stream: a recording of millions of records never stands in
// memory as text. Numbers are written by hand, strings through the JSON library.
#include "profiling/export/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "profiling/export/replaced_file.h"
#include "profiling/export/setting_names.h"

namespace profiling {

namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
// Thread ids keep tracks apart and in this order.
constexpr int kIterationTrack = 1;
constexpr int kFirstHostTrack = 1000;
constexpr int kFirstDeviceTrack = 100'000;

std::string json_string(const std::string& text) {
  // Names from a file may hold any bytes: broken UTF-8 becomes a replacement character.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int track_of(const ActivityRecord& record) {
  return (record.kind == ActivityKind::HostSpan ? kFirstHostTrack : kFirstDeviceTrack) +
         record.lane;
}

/// Nanoseconds as decimal microseconds; a double would round away nanoseconds of a long recording.
std::string microseconds(std::int64_t time_ns) {
  const bool negative = time_ns < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(time_ns) : static_cast<std::uint64_t>(time_ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

/// Wraps instead of overflowing: times of a file may be anything.
std::int64_t shifted(std::int64_t time_ns, std::uint64_t shift_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) + shift_ns);
}

class TraceWriter {
 public:
  explicit TraceWriter(ReplacedFile& file) : file_(file) {}

  void begin(std::uint64_t shift_ns) {
    // Times are said in microseconds by the format; "ns" only chooses what the viewer shows.
    text_ += fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"shift_ns\":{}}},\"traceEvents\":[",
        shift_ns);
  }

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

std::string_view category_of(engine::Stage stage) {
  return static_cast<std::size_t>(stage) < engine::kStageNames.size() ? engine::stage_name(stage)
                                                                      : "other";
}

void write_tracks(const RecordedRun& run, int process, TraceWriter& writer) {
  const engine::RunResult& result = run.result;
  writer.metadata(process, 0, "process_name",
                  fmt::format("run {}: {}{}{}", process, run_title(result.effective),
                              result.device.name.empty() ? "" : " on ", result.device.name));
  writer.sort_index(process, 0, "process_sort_index", process);
  if (!result.iterations.empty()) {
    writer.metadata(process, kIterationTrack, "thread_name",
                    fmt::format("iterations ({})", result.iteration_method));
    writer.sort_index(process, kIterationTrack, "thread_sort_index", kIterationTrack);
  }
  std::set<std::pair<int, std::string>> tracks;
  for (const ActivityRecord& record : run.activity.records) {
    tracks.emplace(track_of(record),
                   fmt::format("{} {}", record.kind == ActivityKind::HostSpan ? "thread" : "stream",
                               record.lane));
  }
  for (const auto& [track, name] : tracks) {
    writer.metadata(process, track, "thread_name", name);
    writer.sort_index(process, track, "thread_sort_index", track);
  }
}

void write_run(const RecordedRun& run, int process, std::uint64_t shift_ns, TraceWriter& writer) {
  write_tracks(run, process, writer);
  for (std::size_t i = 0; i < run.result.iterations.size(); ++i) {
    const engine::Iteration& iteration = run.result.iterations[i];
    writer.slice(process, kIterationTrack, fmt::format("\"iteration {}\"", i), "iteration",
                 shifted(iteration.start_ns, shift_ns), iteration.duration_ns,
                 fmt::format("\"iteration\":{}", i));
  }
  std::vector<std::string> names;
  names.reserve(run.activity.names.size());
  for (const std::string& name : run.activity.names) names.push_back(json_string(name));
  std::string args;
  for (const ActivityRecord& record : run.activity.records) {
    const std::string_view stage = category_of(record.stage);
    args.clear();
    fmt::format_to(std::back_inserter(args), "\"stage\":\"{}\",\"layer\":{}", stage, record.layer);
    if (record.expert >= 0) {
      fmt::format_to(std::back_inserter(args), ",\"expert\":{}", record.expert);
    }
    if (record.iteration >= 0) {
      fmt::format_to(std::back_inserter(args), ",\"iteration\":{}", record.iteration);
    }
    // As text: JavaScript viewers would round a 64-bit number.
    if (record.node_id != 0) {
      fmt::format_to(std::back_inserter(args), ",\"node\":\"{}\"", record.node_id);
    }
    writer.slice(process, track_of(record),
                 record.name < names.size() ? std::string_view(names[record.name]) : "\"?\"", stage,
                 shifted(record.start_ns, shift_ns), record.duration_ns(), args);
  }
}

/// Perfetto drops events before time 0: everything moves right by what the earliest needs. One
/// shift for all runs keeps their first iterations above each other.
std::int64_t earliest_ns(const Session& session) {
  std::int64_t earliest = 0;
  for (const RecordedRun& run : session.runs) {
    for (const ActivityRecord& record : run.activity.records) {
      earliest = std::min(earliest, record.start_ns);
    }
    for (const engine::Iteration& iteration : run.result.iterations) {
      earliest = std::min(earliest, iteration.start_ns);
    }
  }
  return earliest;
}

}  // namespace

engine::Status export_chrome_trace(const Session& session, const std::string& path) {
  engine::Result<ReplacedFile> file = ReplacedFile::create(path);
  if (!file.ok()) return file.error();
  const std::uint64_t shift_ns = 0 - static_cast<std::uint64_t>(earliest_ns(session));
  TraceWriter writer(file.value());
  writer.begin(shift_ns);
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    write_run(session.runs[i], static_cast<int>(i) + 1, shift_ns, writer);
  }
  writer.end();
  return file.value().commit();
}

}  // namespace profiling
