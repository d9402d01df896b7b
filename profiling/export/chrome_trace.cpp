// Which records of a session become which events of the trace.
#include "profiling/export/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/program/operation_words.h"
#include "profiling/document/setting_names.h"
#include "profiling/export/trace_events.h"
#include "profiling/trace/live_memory.h"
#include "profiling/trace/timeline_lanes.h"

namespace profiling {

namespace {

// Thread ids keep tracks distinct and in this order. They start above the process ids of most
// sessions: Perfetto labels the thread whose id equals the process id as the main thread.
constexpr int kIterationTrack = 900;
constexpr int kFirstReplayTrack = 910;
constexpr int kFirstHostTrack = 1000;
constexpr int kFirstDeviceTrack = 10'000'000;
constexpr int kFirstStageTrack = 20'000'000;
constexpr int kFirstOverheadTrack = 30'000'000;
constexpr int kMemoryTrack = 40'000'000;
// Tracks of one lane are consecutive, so that 16-bit lanes never collide.
constexpr int kTracksOfLane = 64;
// Processes for experts come after those of runs.
constexpr int kFirstExpertProcess = 1'000'000;

int first_track_of(bool host, int lane) {
  return (host ? kFirstHostTrack : kFirstDeviceTrack) + lane * kTracksOfLane;
}

/// Wraps instead of overflowing: times in a file may be arbitrary.
std::int64_t shifted(std::int64_t time_ns, std::uint64_t shift_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) + shift_ns);
}

std::string_view category_of(engine::Stage stage) {
  return static_cast<std::size_t>(stage) < engine::kStageNames.size() ? engine::stage_name(stage)
                                                                      : "other";
}

/// Slices of a track must not overlap, or viewers drop them: each record of a lane gets the lane's
/// first free track. Records arrive sorted by start.
class Tracks {
 public:
  /// `lane`: the first of the lane's kTracksOfLane tracks.
  template <class Record>
  int of(int lane, const Record& record) {
    std::vector<std::int64_t>& ends = ends_[lane];
    std::size_t track = 0;
    while (track < ends.size() && ends[track] > record.start_ns) ++track;
    if (track == kTracksOfLane) --track;
    if (track == ends.size()) ends.push_back(record.end_ns);
    ends[track] = std::max(ends[track], record.end_ns);
    return lane + static_cast<int>(track);
  }

  template <class Label>
  void name_all(int process, TraceWriter& writer, Label label) const {
    for (const auto& [lane, ends] : ends_) {
      for (std::size_t i = 0; i < ends.size(); ++i) {
        writer.thread(process, lane + static_cast<int>(i),
                      label(lane) + (i == 0 ? std::string() : fmt::format(" ({})", i + 1)));
      }
    }
  }
  bool empty() const { return ends_.empty(); }

 private:
  std::map<int, std::vector<std::int64_t>> ends_;
};

int lane_of(const ActivityRecord& record) {
  return first_track_of(record.kind == ActivityKind::HostSpan, record.lane);
}

int lane_of(const HostEvent& event) {
  const bool stage = event.kind == HostEventKind::StageRange;
  return (stage ? kFirstStageTrack : kFirstOverheadTrack) + event.lane * kTracksOfLane;
}

int expert_lane_of(const ActivityRecord& record) { return (record.expert + 1) * kTracksOfLane; }

/// Writes one run to the file.
class RunTrace {
 public:
  RunTrace(const RecordedRun& run, int process, TimeRange range, std::uint64_t shift_ns,
           TraceWriter& writer)
      : run_(run),
        process_(process),
        range_(range),
        shift_ns_(shift_ns),
        writer_(writer),
        records_(records_in(run.activity, range)) {
    for (const std::string& name : run.activity.names) names_.push_back(json_string(name));
  }

  void write() {
    name_tracks();
    write_iterations();
    write_replays();
    write_power();
    write_host_events();
    write_memory_events();
    Tracks tracks;
    for (const ActivityRecord& record : records_) {
      write_record(process_, tracks.of(lane_of(record), record), record);
    }
    Tracks experts;
    for (const ActivityRecord& record : records_) {
      if (record.expert < 0) continue;
      write_record(kFirstExpertProcess + process_, experts.of(expert_lane_of(record), record),
                   record);
    }
  }

 private:
  void name_tracks() {
    const engine::RunResult& result = run_.result;
    const std::string title =
        fmt::format("run {}: {}{}{}", process_, run_title(result.effective),
                    result.device.name.empty() ? "" : " on ", result.device.name);
    writer_.process(process_, process_, title);
    if (!result.iterations.empty()) {
      writer_.thread(process_, kIterationTrack,
                     fmt::format("iterations ({})", result.iteration_method));
    }
    // The set of tracks is known only after all records have been assigned.
    Tracks tracks;
    Tracks experts;
    for (const ActivityRecord& record : records_) {
      tracks.of(lane_of(record), record);
      if (record.expert >= 0) experts.of(expert_lane_of(record), record);
    }
    tracks.name_all(process_, writer_, [](int lane) {
      const bool host = lane < kFirstDeviceTrack;
      return fmt::format("{} {}", host ? "thread" : "stream",
                         (lane - first_track_of(host, 0)) / kTracksOfLane);
    });
    if (experts.empty()) return;
    const int process = kFirstExpertProcess + process_;
    writer_.process(process, process, "experts of " + title);
    experts.name_all(process, writer_,
                     [](int lane) { return fmt::format("expert {}", lane / kTracksOfLane - 1); });
  }

  void write_iterations() {
    std::vector<std::pair<std::int64_t, std::size_t>> by_start;
    for (std::size_t i = 0; i < run_.result.iterations.size(); ++i) {
      const std::int64_t start_ns = run_.result.iterations[i].start_ns;
      if (range_.contains(start_ns)) by_start.emplace_back(start_ns, i);
    }
    std::ranges::sort(by_start);
    for (const auto& [start_ns, i] : by_start) {
      writer_.slice(process_, kIterationTrack, fmt::format("\"iteration {}\"", i), "iteration",
                    shifted(start_ns, shift_ns_), run_.result.iterations[i].duration_ns,
                    fmt::format("\"iteration\":{}", i));
    }
  }

  /// From the first record of a replay to its last. Slices instead of asynchronous pairs, for which
  /// Perfetto would make one track per name.
  void write_replays() {
    if (run_.activity.nodes.empty()) return;
    Tracks tracks;
    for (const ActivityRecord& replay : iteration_spans(records_)) {
      writer_.slice(process_, tracks.of(kFirstReplayTrack, replay),
                    fmt::format("\"replay {}\"", replay.iteration), "replay",
                    shifted(replay.start_ns, shift_ns_), replay.duration_ns(),
                    fmt::format("\"iteration\":{}", replay.iteration));
    }
    tracks.name_all(process_, writer_,
                    [](int) { return std::string("graph replays (first record to last)"); });
  }

  /// Values that the device did not report have no counter.
  void write_power() {
    for (const PowerSample& sample : run_.power.samples) {
      if (!range_.contains(sample.time_ns)) continue;
      const std::int64_t time_ns = shifted(sample.time_ns, shift_ns_);
      const auto count = [&](std::string_view name, std::string_view unit, double value) {
        if (value >= 0.0) writer_.counter(process_, name, unit, time_ns, value);
      };
      count("power", "W", sample.power_w);
      count("SM clock", "MHz", sample.sm_clock_mhz);
      count("memory clock", "MHz", sample.memory_clock_mhz);
      count("temperature", "C", sample.temperature_c);
    }
  }

  void write_host_events() {
    Tracks tracks;
    for (const HostEvent& event : run_.activity.host_events) {
      if (!range_.contains(event.start_ns)) continue;
      place_args(event);
      const std::string_view kind = kHostEventNames[static_cast<std::size_t>(event.kind)];
      const bool stage = event.kind == HostEventKind::StageRange;
      fmt::format_to(std::back_inserter(args_), ",\"kind\":\"{}\"", kind);
      writer_.slice(process_, tracks.of(lane_of(event), event), name_of(event.name),
                    stage ? category_of(event.stage) : kind, shifted(event.start_ns, shift_ns_),
                    event.end_ns - event.start_ns, args_);
    }
    tracks.name_all(process_, writer_, [](int lane) {
      const bool stage = lane < kFirstOverheadTrack;
      return fmt::format("{} of host thread {}", stage ? "stages" : "overhead",
                         (lane - (stage ? kFirstStageTrack : kFirstOverheadTrack)) / kTracksOfLane);
    });
  }

  void write_memory_events() {
    bool any = false;
    const LiveMemory live = live_memory(run_.activity.memory_events);
    std::size_t next = 0;
    for (const MemoryEvent& event : run_.activity.memory_events) {
      const std::size_t index = next++;
      if (!range_.contains(event.time_ns)) continue;
      any = true;
      place_args(event);
      // As text: JavaScript viewers would round a 64-bit number.
      fmt::format_to(std::back_inserter(args_), ",\"address\":\"{:#x}\",\"bytes\":{}",
                     event.address, event.bytes);
      const std::int64_t time_ns = shifted(event.time_ns, shift_ns_);
      writer_.instant(process_, kMemoryTrack,
                      kMemoryOperationNames[static_cast<std::size_t>(event.operation)], "memory",
                      time_ns, args_);
      writer_.counter(process_, "live device memory", "bytes", time_ns,
                      static_cast<double>(live.device_bytes[index]));
      writer_.counter(process_, "live host memory", "bytes", time_ns,
                      static_cast<double>(live.host_bytes[index]));
      if (event.pool != 0 && event.pool_bytes > 0) {
        writer_.counter(process_, "memory pool in use", "bytes", time_ns,
                        static_cast<double>(event.pool_used));
      }
    }
    if (any) writer_.thread(process_, kMemoryTrack, "memory");
  }

  template <class Event>
  void place_args(const Event& event) {
    args_.clear();
    fmt::format_to(std::back_inserter(args_), "\"stage\":\"{}\",\"layer\":{}",
                   category_of(event.stage), event.layer);
    if (event.iteration >= 0) {
      fmt::format_to(std::back_inserter(args_), ",\"iteration\":{}", event.iteration);
    }
  }

  std::string_view name_of(std::uint32_t name) const {
    return name < names_.size() ? std::string_view(names_[name]) : "\"?\"";
  }

  void write_record(int process, int track, const ActivityRecord& record) {
    const std::string_view stage = category_of(record.stage);
    args_.clear();
    fmt::format_to(std::back_inserter(args_), "\"stage\":\"{}\",\"layer\":{}", stage, record.layer);
    const std::string& operation = operations_.of(record.stage, record.writes);
    if (!operation.empty()) {
      fmt::format_to(std::back_inserter(args_), ",\"operation\":\"{}\",\"name\":{}", operation,
                     name_of(record.name));
    }
    if (record.expert >= 0) {
      fmt::format_to(std::back_inserter(args_), ",\"expert\":{}", record.expert);
    }
    if (record.iteration >= 0) {
      fmt::format_to(std::back_inserter(args_), ",\"iteration\":{}", record.iteration);
    }
    // As text: JavaScript viewers would round a 64-bit number.
    if (record.node_id != 0) {
      fmt::format_to(std::back_inserter(args_), ",\"node\":\"{}\"", record.node_id);
    }
    title_ = operation.empty() ? std::string(name_of(record.name)) : json_string(operation);
    writer_.slice(process, track, title_, stage, shifted(record.start_ns, shift_ns_),
                  record.duration_ns(), args_);
  }

  const RecordedRun& run_;
  const int process_;
  const TimeRange range_;
  const std::uint64_t shift_ns_;
  TraceWriter& writer_;
  const std::span<const ActivityRecord> records_;
  std::vector<std::string> names_;  // quoted
  engine::OperationNames operations_{run_.result.effective.step};
  std::string args_;
  std::string title_;
};

/// Perfetto drops events before time 0: everything is shifted right by as much as the earliest
/// needs. One shift for all runs keeps their first iterations aligned.
std::int64_t earliest_ns(const Session& session, const TraceChoice& choice) {
  std::int64_t earliest = 0;
  for (const RecordedRun& run : session.runs) {
    const std::span<const ActivityRecord> records = records_in(run.activity, choice.range);
    if (!records.empty()) earliest = std::min(earliest, records.front().start_ns);
    for (const HostEvent& event : run.activity.host_events) {
      if (choice.range.contains(event.start_ns)) earliest = std::min(earliest, event.start_ns);
    }
    for (const MemoryEvent& event : run.activity.memory_events) {
      if (choice.range.contains(event.time_ns)) earliest = std::min(earliest, event.time_ns);
    }
    for (const PowerSample& sample : run.power.samples) {
      if (choice.range.contains(sample.time_ns)) earliest = std::min(earliest, sample.time_ns);
    }
    for (const engine::Iteration& iteration : run.result.iterations) {
      if (choice.range.contains(iteration.start_ns)) {
        earliest = std::min(earliest, iteration.start_ns);
      }
    }
  }
  return earliest;
}

}  // namespace

engine::Status export_chrome_trace(const Session& session, const std::string& path,
                                   const TraceChoice& choice) {
  if (session.runs.empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         "the session has no run, so a trace would be empty; CSV tables hold its "
                         "other parts (visits to the doctor, sweeps)"};
  }
  if (choice.run && *choice.run >= session.runs.size()) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("run {} was selected; the session has {} runs",
                                     *choice.run + 1, session.runs.size())};
  }
  ENGINE_ASSIGN(ReplacedFile file, ReplacedFile::create(path));
  const std::uint64_t shift_ns = 0 - static_cast<std::uint64_t>(earliest_ns(session, choice));
  TraceWriter writer(file);
  writer.begin(shift_ns);
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (choice.run && *choice.run != i) continue;
    RunTrace(session.runs[i], static_cast<int>(i) + 1, choice.range, shift_ns, writer).write();
  }
  writer.end();
  return file.commit();
}

}  // namespace profiling
