// The window's side of a worker: a child process, its pipes, and its known state. Nothing here
// blocks the caller: two threads do all reading and writing, and slots hold only the newest
// command.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/protocol/folder_listing.h"
#include "app/protocol/orders.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/routing_kind.h"
#include "engine/observe/step_observer.h"

namespace app {

enum class LinkState {
  Starting,    // spawned, no HelloReply yet
  Responsive,  // pulses arrive, idle
  Busy,        // pulses arrive, a run is in progress and moving
  Stalled,     // no pulse for 500 ms, or a pulse whose progress has not moved for the stall limit
  Lost,        // exited, killed, refused or sent garbage; never comes back: start a new link
};

struct BackendOffer {
  engine::GemmBackend kind = engine::GemmBackend::CpuReference;
  bool available = false;
  std::string reason;
  engine::DeviceFacts device;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&BackendOffer::kind, &BackendOffer::available, &BackendOffer::reason,
                          &BackendOffer::device>();
  }
};

struct WorkerHello {
  std::string program_version;
  std::string host;
  std::string tracing;
  std::vector<BackendOffer> backends;
  std::vector<std::string> cublaslt_libraries;  // those it was started with and those it finds
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&WorkerHello::program_version, &WorkerHello::host, &WorkerHello::tracing,
                          &WorkerHello::backends, &WorkerHello::cublaslt_libraries>();
  }
};
/// The worker may load this cuBLASLt library no matter who names it: one of its own, or already
/// loaded.
bool has_library(const WorkerHello& hello, const std::string& path);
/// Without asking: it is none, one that the user has allowed, or one of the worker's own.
bool may_load(const WorkerHello& hello, const std::vector<std::string>& allowed,
              const std::string& path);
/// Why a command does not let `file` name the library `path`, and what its user can do.
std::string library_refusal(const std::string& file, const std::string& path);

/// Limit of what a pulse counts: code that displays it adds one.
inline constexpr int kMaxPulseCount = 1 << 30;

/// The newest ping that has reached the worker, as its pulses report it.
struct PingEcho {
  std::uint64_t number = 0;  // 0 = none yet
  double held_seconds = 0;   // from its arrival to this pulse
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&PingEcho::number>(),
                      engine::field<&PingEcho::held_seconds>({.low = 0, .high = 86400})};
  }
};

struct PulseReport {
  std::uint64_t request_id = 0;
  engine::Stage stage = engine::Stage::Other;
  int iteration = -1;
  int iterations = 0;
  int expert = -1;
  double fraction = 0.0;
  std::uint64_t dropped_records = 0;
  int replay = 0;  // replay of a doctor's experiment; 0 = none is in progress
  std::vector<profiling::NodeState> board = {};  // of the graph being replayed
  std::string device = {};                       // the state of the device then, in words
  /// Between orders, while watch_device() is on: one sample or why there is none.
  std::optional<profiling::PowerTrace> reading = {};
  PingEcho echo = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&PulseReport::request_id>(),
                      engine::field<&PulseReport::stage>(),
                      engine::field<&PulseReport::iteration>({.low = -1, .high = kMaxPulseCount}),
                      engine::field<&PulseReport::iterations>({.low = 0, .high = kMaxPulseCount}),
                      engine::field<&PulseReport::expert>({.low = -1, .high = kMaxPulseCount}),
                      engine::field<&PulseReport::fraction>({.low = 0, .high = 1}),
                      engine::field<&PulseReport::dropped_records>(),
                      engine::field<&PulseReport::replay>({.low = 0, .high = kMaxPulseCount}),
                      engine::field<&PulseReport::board>(),
                      engine::field<&PulseReport::device>(),
                      engine::field<&PulseReport::reading>(),
                      engine::field<&PulseReport::echo>()};
  }
};

/// What a worker is to tell of a file.
struct FileQuestion {
  std::string path;
  /// The file is read as a routing file with these settings; empty = its tensors are described, and
  /// also its routing if they are all integers.
  std::optional<engine::RoutingSpec> routing = {};
  /// The path is a folder, which is listed; an empty one is the home of the worker's user.
  std::optional<FolderFilter> folder = {};
  bool operator==(const FileQuestion&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&FileQuestion::path, &FileQuestion::routing, &FileQuestion::folder>();
  }
};
/// A folder with more .npy files is no dump of one step.
inline constexpr std::size_t kMaxNeighbours = 256;
struct FileReport {
  std::string path;
  std::string error;
  std::vector<engine::TensorEntry> tensors;
  std::optional<engine::RoutingSpec> asked = {};     // FileQuestion::routing
  std::optional<engine::RoutingFacts> routing = {};  // empty = not a routing file, or see `error`
  /// A newer question about routing, or about a folder, came before this one was answered, so there
  /// is no other answer.
  bool superseded = false;
  /// Two or more, with `error`: what its numbers may be. One is the user's to choose.
  std::vector<engine::RoutingReading> readings = {};
  /// Names of the .npy files in its folder, itself included, if it is one: they may be the other
  /// tensors of its step. Empty where there are more than kMaxNeighbours.
  std::vector<std::string> neighbours = {};
  /// There for a question about a folder; blank with `error`.
  std::optional<FolderListing> listing = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FileReport::path>(),
                      engine::field<&FileReport::error>(),
                      engine::field<&FileReport::tensors>(),
                      engine::field<&FileReport::asked>(),
                      engine::field<&FileReport::routing>(),
                      engine::field<&FileReport::superseded>(),
                      engine::field<&FileReport::readings>({.most = engine::kMaxRoutingReadings}),
                      engine::field<&FileReport::neighbours>({.most = kMaxNeighbours}),
                      engine::field<&FileReport::listing>()};
  }
};
struct LogReport {
  int level = 0;
  std::string text;
};

template <class Answers>
struct EventsWith;
template <class... Answers>
struct EventsWith<std::variant<Answers...>> {
  using Type = std::variant<WorkerHello, FileReport, LogReport, Answers...>;
};
/// Records arrive within their RunDone, never by themselves.
using LinkEvent = EventsWith<Answer>::Type;

struct LinkStatus {
  LinkState state = LinkState::Starting;
  std::string reason;  // for Stalled and Lost: "killed by signal 9", "sent a malformed frame: ...",
                       // "no pulse for 0.8 s"
  PulseReport pulse;
  int pid = 0;                // 0 until it runs
  double seconds_silent = 0;  // since its last byte, or its start
  double seconds_still = 0;   // since the last progress: an order, progress, part of an answer
  /// Input files of an order that are sent to the worker's machine first: "Sending x.npy, 1.2 GiB".
  std::string sending = {};
  double sent_fraction = -1;  // negative = not known
  /// Of the newest ping that came back: over the link and through the worker's reader. Empty = not
  /// measured yet, or not wanted.
  std::optional<double> round_trip_seconds = {};
  bool cancel_overdue = false;     // it has not answered cancel() for 2 s
  std::uint64_t dropped_logs = 0;  // lines that arrived faster than poll() took them
};

class WorkerLink {
 public:
  struct Options {
    std::vector<std::string> argv;  // worker's program and arguments; never passed through a shell
    std::function<void()> wake;  // called from a link thread when poll() or status() may have news
    double progress_stall_seconds = 0;  // 0 = a busy worker may go without progress indefinitely
    std::vector<std::string> allowed_libraries = {};  // as for allow_libraries()
    std::uint64_t last_order = 0;                     // submit() counts on from here
    bool remote = false;  // the worker is on another machine: pinged, and large frames compressed
  };
  /// Never fails and never waits: if the program cannot be started, the link becomes Lost with the
  /// reason.
  static std::unique_ptr<WorkerLink> start(Options options);
  /// Kills the worker and all its descendants if they are still alive, and joins the threads. Takes
  /// a second or two if a worker cannot be killed.
  virtual ~WorkerLink() = default;

  // A worker may answer what it was ordered, once, and nothing else: anything more and it is Lost.
  // Events that are not polled are bounded at about 64 MiB; then the link stops reading until
  // poll() is called.

  /// Newest wins: an order that has not been sent yet is replaced, one that runs is asked to stop.
  /// Returns the id of its answer, which may be a RunError; `reserved`: that id, where it was.
  virtual std::uint64_t submit(Task task, std::uint64_t reserved = 0) = 0;
  /// The id of an order that is submitted later, before any other: its files are on their way.
  virtual std::uint64_t reserve() = 0;
  virtual void cancel() = 0;
  /// Orders from now on may name these cuBLASLt libraries in addition to those of has_library();
  /// the worker refuses all others. Only what this user chose belongs here: loading a library runs
  /// its code.
  virtual void allow_libraries(std::vector<std::string> paths) = 0;
  virtual void inspect_file(const FileQuestion& question) = 0;
  /// Whether pulses between orders carry a reading of the device. Off at the start.
  virtual void watch_device(bool on) = 0;
  /// Events since the last call, in order.
  virtual std::vector<LinkEvent> poll() = 0;
  virtual LinkStatus status() const = 0;
  /// SIGKILL to the worker and its descendants; the state becomes Lost when it is reaped.
  virtual void kill() = 0;
};

}  // namespace app
