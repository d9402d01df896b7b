#include "app/attach/hang_watch.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "app/attach/recent_words.h"
#include "app/doctor/core_dump.h"
#include "app/doctor/report_words.h"
#include "engine/model/counted.h"
#include "engine/model/text.h"

namespace app {
namespace {

// The usual deadline.
constexpr double kTimesLongest = 20;
constexpr double kLeastSeconds = 10;
constexpr double kMostSeconds =
    60;  // ranks wait for each other while one of them saves a checkpoint

constexpr std::size_t kShownDeadline = 40;  // bytes of what was typed
constexpr std::size_t kShownText = 200;     // bytes of a text that the program gave

double seconds(std::uint64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

double waited(const profiling::OpenWait& wait, std::uint64_t now) {
  return now > wait.since ? seconds(now - wait.since) : 0;
}

std::string_view name_of_call(profiling::spool::WaitCall call) {
  using Call = profiling::spool::WaitCall;
  switch (call) {
    case Call::StreamSynchronize:
      return "cudaStreamSynchronize";
    case Call::EventSynchronize:
      return "cudaEventSynchronize";
    case Call::ContextSynchronize:
      return "cudaDeviceSynchronize";
    case Call::CommunicatorEnd:
      return "a call of NCCL that ends a communicator";
    case Call::BeforeComparedLaunch:
      return "cudaGraphLaunch, which waits for earlier work on its stream to compare memory,";
    case Call::AfterComparedLaunch:
      return "cudaGraphLaunch, which waits for the end of its replay to compare memory,";
    case Call::GraphLaunch:
      break;
  }
  return "cudaGraphLaunch";
}

bool names_stream(const profiling::OpenWait& wait) {
  using Call = profiling::spool::WaitCall;
  return wait.call == Call::StreamSynchronize || wait.call == Call::GraphLaunch ||
         wait.call == Call::BeforeComparedLaunch || wait.call == Call::AfterComparedLaunch;
}

using Replays = std::vector<profiling::ObservedReplay>;

/// Null = none of this graph is known to be under way.
const profiling::ObservedReplay* replay_of(const Replays& replays, std::uint64_t graph) {
  const auto found = std::ranges::find(replays, graph, &profiling::ObservedReplay::graph);
  return found == replays.end() ? nullptr : &*found;
}

/// The graph whose launch is the newest, on the stream that is waited for if there is one; one that
/// markers show under way comes before all others. Null = none was launched.
const profiling::GraphLaunches* suspect(const profiling::SpoolState& state,
                                        const profiling::OpenWait& wait, const Replays& replays) {
  const profiling::GraphLaunches* newest = nullptr;
  const auto rank = [&](const profiling::GraphLaunches& graph) {
    return std::pair(replay_of(replays, graph.graph) != nullptr, graph.last_launch);
  };
  const auto newer = [&](const profiling::GraphLaunches& graph) {
    return graph.launches > 0 && (newest == nullptr || rank(graph) > rank(*newest));
  };
  for (const profiling::GraphLaunches& graph : state.graphs) {
    if (names_stream(wait) && graph.last_stream != wait.stream) continue;
    if (newer(graph)) newest = &graph;
  }
  return newest;
}

/// What markers say about that graph, and about others whose replays stand still as well.
std::string marker_words(const profiling::ObservedProcess& process, const Replays& replays,
                         std::uint64_t graph) {
  std::string words;
  const profiling::ObservedReplay* replay = replay_of(replays, graph);
  if (replay != nullptr) {
    const auto count = [&](profiling::NodeState state) {
      return std::ranges::count(replay->nodes, state);
    };
    words =
        fmt::format("Its markers show {} finished, {} running, {} not reached. ",
                    engine::counted(count(profiling::NodeState::Done), "node"),
                    count(profiling::NodeState::Running), count(profiling::NodeState::NotReached));
  } else if (process.is_marked(graph)) {
    words = "It has markers, but no replay of it was seen standing still. ";
  } else {
    const std::string why = engine::shown_text(process.why_unmarked(graph), kShownText);
    words = !why.empty()
                ? fmt::format("It has no markers, so which node runs is not known: {}. ", why)
            : process.graphs_marked() > 0 ? "Whether it has markers is not known. "
                                          : "Launches before it may still run. ";
  }
  for (const profiling::ObservedReplay& other : replays) {
    if (other.graph == graph) continue;
    words +=
        fmt::format("A replay of {} is under way as well. ", profiling::graph_name(other.graph));
  }
  return words;
}

}  // namespace

HangDetailWords words_of(profiling::HangDetail detail) {
  if (detail == profiling::HangDetail::Markers)
    return {"--markers", "Mark nodes", "which graph hangs, and in which node"};
  return {"--core-dump", "Core dump when it hangs", "where its kernels stand"};
}

engine::Result<std::vector<std::string>> attach_core_dumps(const std::string& folder) {
  if (folder.find('%') != std::string::npos) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("A core dump needs a folder for the record without '%', which the driver "
                    "replaces: {}",
                    folder)};
  }
  return core_dump_environment(folder + "/%p");
}

std::string core_dump_name(const std::string& folder, std::uint32_t process) {
  return fmt::format("{}/{}", folder, process);
}

std::string usual_hang_deadline() {
  return fmt::format("{} times the longest wait so far, {} s to {} s", kTimesLongest, kLeastSeconds,
                     kMostSeconds);
}

engine::Result<double> typed_hang_deadline(std::string_view text) {
  // The command line looks for hangs ten times a second, the window twenty times.
  constexpr double kLeast = 0.1;
  constexpr double kMost = 86'400;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() &&
      (value == 0 || (value >= kLeast && value <= kMost)))
    return value;
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("'{}' is no deadline of a hang: give {} to {} seconds, or 0 for {}",
                  engine::shown_text(text, kShownDeadline), kLeast, kMost, usual_hang_deadline())};
}

double hang_deadline(const profiling::SpoolState& state, const HangOptions& options) {
  if (options.after_seconds > 0) return options.after_seconds;
  return std::clamp(kTimesLongest * seconds(state.longest_wait), kLeastSeconds, kMostSeconds);
}

std::optional<profiling::OpenWait> hanging_wait(const profiling::SpoolState& state,
                                                std::uint64_t now, const HangOptions& options) {
  const auto longest = std::ranges::min_element(state.waits, {}, &profiling::OpenWait::since);
  if (longest == state.waits.end() || waited(*longest, now) < hang_deadline(state, options))
    return std::nullopt;
  return *longest;
}

profiling::ExperimentRecord hang_record(const profiling::ObservedProcess& process,
                                        const profiling::SpoolState& state,
                                        const profiling::Snapshot& snapshot,
                                        const profiling::OpenWait& wait, std::uint64_t now,
                                        double deadline_seconds, const HangingDevice& device) {
  profiling::ExperimentRecord record;
  record.title = kProgramItself;
  record.outcome.verdict = profiling::Verdict::Hung;
  record.outcome.seconds = waited(wait, now);
  profiling::Stall& stall = record.outcome.stall.emplace_back();
  stall.waited_seconds = waited(wait, now);
  stall.deadline_seconds = deadline_seconds;
  stall.kind = wait.call == profiling::spool::WaitCall::GraphLaunch
                   ? profiling::StallKind::HostBlocked
                   : profiling::StallKind::Unknown;
  const Replays replays = process.replays_since(wait.since);
  const profiling::GraphLaunches* launched = suspect(state, wait, replays);
  // It has not been counted either.
  const std::string_view not_begun = wait.call == profiling::spool::WaitCall::BeforeComparedLaunch
                                         ? "; the launch that waits has not begun"
                                         : "";
  if (launched != nullptr) {
    const std::string name = profiling::graph_name(launched->graph);
    const int graph = graph_in(snapshot, launched->graph);
    stall.graph = std::max(graph, 0);
    const profiling::ObservedReplay* replay = replay_of(replays, launched->graph);
    // Without markers nothing says that this graph runs, and not an earlier launch.
    if (replay != nullptr)
      stall.replay =
          static_cast<int>(std::min<std::uint64_t>(launched->launches, profiling::kMaxReplays));
    record.experiment.graph = replay != nullptr;
    if (replay != nullptr && graph >= 0 &&
        replay->nodes.size() == snapshot.graphs[static_cast<std::size_t>(graph)].nodes.size()) {
      stall.nodes = replay->nodes;
      stall.last_finished = replay->last_finished;
    }
    const std::string_view where =
        names_stream(wait) ? "on the stream that is waited for" : "by the process";
    // Launches that are queued behind the one under way have been counted too.
    stall.evidence =
        replay == nullptr
            ? fmt::format("The last launch {} is launch {} of {}{}. ", where, launched->launches,
                          name, not_begun)
            : fmt::format("A replay of {} stands still; the graph was launched {} {}{}. ", name,
                          engine::counted(launched->launches, "time"), where, not_begun);
    stall.evidence += marker_words(process, replays, launched->graph);
  } else {
    record.experiment.graph = false;
    stall.evidence =
        fmt::format("No graph was launched{}{}. ",
                    names_stream(wait) ? " on the stream that is waited for" : "", not_begun);
  }
  record.experiment.replays = std::min(stall.replay, profiling::kMaxExperimentReplays);
  record.experiment.markers = !stall.nodes.empty();
  for (const profiling::OpenWait& one : state.waits) {
    stall.evidence += fmt::format("{} has been in {} for {:.1f} s. ",
                                  engine::shown_text(process.thread_text(one.thread), kShownText),
                                  name_of_call(one.call), waited(one, now));
  }
  stall.evidence +=
      recent_words(process, snapshot, launched == nullptr ? 0 : launched->graph, wait.since);
  if (launched != nullptr && process.graphs_marked() == 0 &&
      process.why_unmarked(launched->graph).empty())
    stall.not_asked_for.push_back(profiling::HangDetail::Markers);
  if (device.may_be_dumped) stall.not_asked_for.push_back(profiling::HangDetail::CoreDump);
  for (const profiling::HangDetail detail : stall.not_asked_for) {
    const HangDetailWords words = words_of(detail);
    stall.evidence += fmt::format("{} ({}) shows {}. ", words.option, words.control, words.shows);
  }
  stall.evidence += device.words;
  stall.core_dump = device.dump.path;
  stall.core = device.place;
  if (!device.dump.missing.empty()) stall.evidence += "; no core dump: " + device.dump.missing;
  return record;
}

}  // namespace app
