#include "profiling/doctor/experiment_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device/allocation_ledger.h"
#include "engine/device/buffer.h"
#include "engine/device/check.h"
#include "engine/device/driver_api.h"
#include "engine/device/handles.h"
#include "engine/model/quantiles.h"
#include "profiling/capture/graph_reader.h"
#include "profiling/cupti/load_watch.h"
#include "profiling/doctor/core_dump.h"
#include "profiling/doctor/graph_changes.h"
#include "profiling/doctor/marker_board.h"
#include "profiling/doctor/replay_wait.h"
#include "profiling/doctor/subject_capture.h"

namespace profiling {
namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::Status;

constexpr int kWarmUps = 2;                 // delayed scaling needs a step to settle
constexpr int kEagerLaunches = 3;           // that must agree
constexpr double kFirstLaunchSeconds = 60;  // kernels are loaded on the way
constexpr double kShortestDeadline = 0.5;
constexpr double kDeadlineFactor = 20;  // of the slowest eager launch

constexpr double kCoreDumpSeconds = 20;

constexpr int kMarkerPairs = 16;       // replays with and without markers that are compared
constexpr int kFewestMarkerPairs = 4;  // of a step that takes so long that there is no time for all
constexpr double kMarkerSeconds = 1;

using Sums = std::vector<std::uint64_t>;

/// After these no CUDA call of this process can succeed.
bool device_is_lost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
      return true;
    default:
      return false;
  }
}

struct CapturedGraph {
  engine::Graph graph;
  ReadGraph read;
  engine::Graph unmarked;  // the same before the markers were added; none where CUDA copies none
  std::optional<MarkerBoard> board;
  engine::GraphExec executable;
  engine::GraphExec unmarked_executable;
  std::vector<engine::DeviceBuffer> moved;  // outlive `executable`'s launches
};

/// What must not be destroyed while a replay hangs, because destroying waits for it.
struct Captures {
  std::vector<CapturedGraph> graphs;
};

class Run {
 public:
  Run(Subject& subject, const Experiment& experiment, const ExperimentFacts& facts,
      ExperimentWatch watch, cudaStream_t stream)
      : subject_(subject),
        experiment_(experiment),
        facts_(facts),
        watch_(watch),
        stream_(stream),
        captures_(std::make_unique<Captures>()) {}

  ~Run() {
    watch_.board.detach();
    const Verdict verdict = reply_.outcome.verdict;
    if (verdict != Verdict::Hung && verdict != Verdict::Crashed) return;
    // Left to the end of the process.
    (void)captures_.release();
    (void)probe_.release();
  }

  Result<ExperimentReply> run() {
    const auto start = std::chrono::steady_clock::now();
    const Status status = make_all();
    if (!status.ok() && !finished_) return status.error();
    reply_.outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(reply_);
  }

 private:
  /// Ends the experiment with a verdict; the returned status only unwinds.
  Status end(Verdict verdict, std::string message = {}) {
    reply_.outcome.verdict = verdict;
    reply_.outcome.message = std::move(message);
    finished_ = true;
    return Error{ErrorCode::Internal, "the experiment has ended"};
  }

  /// What a failed CUDA call means for the experiment.
  Status end_with(const Error& error) {
    const auto code = static_cast<cudaError_t>(error.device_error);
    return end(device_is_lost(code) ? Verdict::Crashed : Verdict::Refused, error.message);
  }

  bool cancelled() const { return watch_.progress.cancel.load(); }
  static Error cancel_error() { return {ErrorCode::Cancelled, "The experiment was cancelled"}; }

  Status make_all() {
    ENGINE_TRY(prepare());
    ENGINE_TRY(launch_eagerly());
    if (!experiment_.graph)
      return end(first_wrong_replay(reply_.outcome) > 0 ? Verdict::Wrong : Verdict::Right);
    describe();
    ENGINE_TRY(capture_all(captures_->graphs, reply_.snapshot.graphs, -1));
    ENGINE_TRY(find_memory());
    for (std::size_t g = 0; g < captures_->graphs.size(); ++g) ENGINE_TRY(make_executable(g));
    for (int replay = 1; replay <= experiment_.replays; ++replay) ENGINE_TRY(make_replay(replay));
    ENGINE_TRY(measure_marker_cost());
    if (Status noted = subject_.noted_errors(stream_); !noted.ok()) {
      return end(Verdict::Crashed, noted.error().message);
    }
    ENGINE_TRY(check_red_zones());
    ENGINE_TRY(capture_variant());
    if (experiment_.replays == 0) return end_capture_only();
    return end(first_wrong_replay(reply_.outcome) > 0 ? Verdict::Wrong : Verdict::Right);
  }

  Status prepare() {
    if (experiment_.replays < 0 || experiment_.replays > 10000) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("An experiment makes up to 10000 replays, not {}", experiment_.replays)};
    }
    Result<engine::DriverApi> driver = engine::load_driver_api();
    if (!driver.ok()) return driver.error();
    driver_ = driver.value();
    Result<Probe> probe = Probe::create();
    if (!probe.ok()) return probe.error();
    probe_ = std::make_unique<Probe>(std::move(probe).value());
    for (engine::Event* event : {&begin_, &done_}) {
      Result<engine::Event> made = engine::make_timing_event();
      if (!made.ok()) return made.error();
      *event = std::move(made).value();
    }
    watch_.progress.iterations.store(experiment_.replays);
    return {};
  }

  /// One launch of every graph's work without a graph, waited for.
  Status launch_once(double deadline, double* seconds) {
    engine::StepObserver unobserved;
    ENGINE_TRY(subject_.reset(stream_));
    ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), stream_), "Starting an eager launch");
    const auto start = std::chrono::steady_clock::now();
    for (int g = 0; g < static_cast<int>(subject_.graph_names().size()); ++g) {
      if (Status launched = subject_.enqueue(g, stream_, unobserved); !launched.ok()) {
        return launched;
      }
    }
    ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), stream_), "Starting an eager launch");
    const Result<Waited> waited = wait_for(done_.get(), deadline, [this] { return cancelled(); });
    if (!waited.ok()) return end(Verdict::Crashed, waited.error().message);
    if (waited.value() == Waited::Cancelled) return cancel_error();
    if (waited.value() == Waited::Late) {
      Stall stall;
      stall.waited_seconds = deadline;
      stall.deadline_seconds = deadline;
      stall.kind = probe_->triage({}, stall.evidence);
      add_device(stall);
      reply_.outcome.stall = {std::move(stall)};
      return end(Verdict::Hung, "an eager launch, without any graph, did not finish");
    }
    if (seconds != nullptr) {
      *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return {};
  }

  Status launch_eagerly() {
    const int kinds = experiment_.changed_inputs ? 2 : 1;
    for (int kind = 0; kind < kinds; ++kind) {
      if (Status set = subject_.set_inputs(kind == 1, stream_); !set.ok()) {
        if (set.error().code != ErrorCode::Unsupported) return set;
        return end(Verdict::NotRun, set.error().message);
      }
      for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(launch_once(kFirstLaunchSeconds, nullptr));
      double slowest = 0;
      for (int i = 0; i < kEagerLaunches; ++i) {
        double seconds = 0;
        ENGINE_TRY(launch_once(kFirstLaunchSeconds, &seconds));
        slowest = std::max(slowest, seconds);
        Result<Sums> sums = subject_.checksums(stream_);
        if (!sums.ok()) return end_with(sums.error());
        if (i == 0) expected_[kind] = std::move(sums).value();
        if (i > 0 && !experiment_.graph) compare(i + 1, expected_[kind], sums.value());
        if (i > 0 && experiment_.graph && sums.value() != expected_[kind]) {
          return end(Verdict::NotRun,
                     "eager launches do not agree with each other, so replays have nothing to be "
                     "compared with");
        }
      }
      deadline_ = std::max(deadline_, kDeadlineFactor * slowest);
    }
    if (experiment_.deadline_seconds > 0) deadline_ = experiment_.deadline_seconds;
    if (kinds == 2) return subject_.set_inputs(false, stream_);
    return {};
  }

  void describe() {
    reply_.snapshot.subject = subject_.title();
    reply_.snapshot.cublaslt_version = facts_.device.cublaslt_version;
    reply_.snapshot.device = facts_.device.name;
    reply_.snapshot.compute_capability = facts_.device.compute_capability;
    reply_.snapshot.driver = facts_.device.driver;
  }

  void read_ledger() {
    const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
    reply_.snapshot.ledger = ledger.read();
    reply_.snapshot.ledger_clock = ledger.clock();
  }

  Status poison_workspaces() {
    if (experiment_.poisoned_workspaces < 0) return {};
    for (const engine::Allocation& allocation : engine::AllocationLedger::of_process().read()) {
      if (allocation.role != engine::AllocationRole::Workspace || !allocation.live()) continue;
      ENGINE_CUDA_TRY(cudaMemsetAsync(reinterpret_cast<void*>(allocation.address),
                                      experiment_.poisoned_workspaces, allocation.bytes, stream_),
                      "Filling a workspace");
    }
    return {};
  }

  /// Only where nothing is replayed: CUPTI in the process changes what is.
  void start_load_watch(int variant_of) {
    if (experiment_.replays > 0 || variant_of >= 0) return;
    Result<std::unique_ptr<LoadWatch>> watch = LoadWatch::start();
    if (watch.ok()) {
      load_watch_ = std::move(watch).value();
    } else {
      unwatched_ = watch.error().message;
    }
  }

  void note_loads(GraphSnapshot& snapshot) {
    if (load_watch_ == nullptr) return;
    const Result<std::vector<std::string>> loads = load_watch_->stop();
    load_watch_.reset();
    if (!loads.ok()) {
      unwatched_ = loads.error().message;
      return;
    }
    for (const std::string& load : loads.value()) {
      snapshot.events.push_back({.kind = CaptureEvent::Kind::LazyLoad, .what = load});
      loads_ += loads_.empty() ? load : "; " + load;
    }
  }

  /// What a capture that is not replayed has shown.
  Status end_capture_only() {
    if (!loads_.empty()) return end(Verdict::Wrong, "loaded during the capture: " + loads_);
    if (unwatched_.empty()) return end(Verdict::Right);
    return end(Verdict::NotRun,
               "captured, but what was loaded meanwhile could not be watched: " + unwatched_);
  }

  /// Captures every graph of the subject. `variant_of` = -1: the graphs that are replayed, and the
  /// program goes on after each of them as it does.
  Status capture_all(std::vector<CapturedGraph>& captured, std::vector<GraphSnapshot>& snapshots,
                     int variant_of) {
    const std::vector<std::string> names = subject_.graph_names();
    for (std::size_t g = 0; g < names.size(); ++g) {
      ENGINE_TRY(poison_workspaces());
      if (const cudaError_t synced = cudaStreamSynchronize(stream_); synced != cudaSuccess) {
        return end(Verdict::Crashed, engine::cuda_error(synced, "Before the capture").message);
      }
      start_load_watch(variant_of);
      Result<Capture> capture = capture_graph(driver_, subject_, static_cast<int>(g), stream_);
      if (!capture.ok()) return capture.error();
      note_loads(capture.value().read.snapshot);
      GraphSnapshot snapshot = capture.value().read.snapshot;
      snapshot.name = names[g];
      if (variant_of >= 0) {
        snapshot.variant_of = variant_of + static_cast<int>(g);
        snapshot.changed = "inputs";
      }
      snapshots.push_back(std::move(snapshot));
      if (capture.value().refused) {
        read_ledger();
        return end(Verdict::Refused, capture.value().refused->message);
      }
      CapturedGraph& kept = captured.emplace_back();
      kept.graph = std::move(capture.value().graph);
      kept.read = std::move(capture.value().read);
      if (variant_of < 0) ENGINE_TRY(subject_.captured(static_cast<int>(g), stream_));
    }
    if (variant_of < 0) read_ledger();
    return {};
  }

  /// The newest allocation of that owner.
  const engine::Allocation* allocation_of(const std::string& owner) const {
    const engine::Allocation* found = nullptr;
    for (const engine::Allocation& allocation : reply_.snapshot.ledger) {
      if (allocation.owner == owner) found = &allocation;
    }
    return found;
  }

  Status check_ref(const NodeRef& ref) const {
    const bool known =
        ref.graph >= 0 && static_cast<std::size_t>(ref.graph) < captures_->graphs.size() &&
        ref.node >= 0 &&
        static_cast<std::size_t>(ref.node) <
            captures_->graphs[static_cast<std::size_t>(ref.graph)].read.snapshot.nodes.size();
    if (known) return {};
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("The experiment names node {} of graph {}, which was not captured",
                             ref.node, ref.graph)};
  }

  /// Whether everything that the experiment names is there.
  Status find_memory() {
    for (const MovedMemory& moved : experiment_.moved) ENGINE_TRY(check_ref(moved.node));
    for (const NodeRef& node : experiment_.delayed) ENGINE_TRY(check_ref(node));
    for (const auto& [first, second] : experiment_.ordered) {
      ENGINE_TRY(check_ref(first));
      ENGINE_TRY(check_ref(second));
    }
    const auto need = [&](const std::string& owner) -> Status {
      if (allocation_of(owner) != nullptr) return {};
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("The experiment names memory \"{}\", which nobody allocated", owner)};
    };
    for (const MovedMemory& moved : experiment_.moved) ENGINE_TRY(need(moved.owner));
    for (const FilledMemory& filled : experiment_.filled) ENGINE_TRY(need(filled.owner));
    return {};
  }

  Status make_executable(std::size_t index) {
    CapturedGraph& captured = captures_->graphs[index];
    const int graph = static_cast<int>(index);
    for (const auto& [first, second] : experiment_.ordered) {
      if (first.graph != graph || second.graph != graph) continue;
      ENGINE_TRY(
          order_nodes(driver_, captured.graph.get(), captured.read, first.node, second.node));
    }
    for (const NodeRef& node : experiment_.delayed) {
      if (node.graph != graph) continue;
      ENGINE_TRY(delay_node(driver_, captured.graph.get(), captured.read, node.node));
    }
    if (experiment_.markers) {
      if (measures_markers()) captured.unmarked = copy_of(captured);
      Result<MarkerBoard> board = MarkerBoard::add(driver_, captured.graph.get(), captured.read);
      if (!board.ok()) return board.error();
      captured.board.emplace(std::move(board).value());
    }
    cudaGraphExec_t raw = nullptr;
    const unsigned flags =
        experiment_.free_on_launch ? unsigned{cudaGraphInstantiateFlagAutoFreeOnLaunch} : 0U;
    if (const cudaError_t made = cudaGraphInstantiateWithFlags(&raw, captured.graph.get(), flags);
        made != cudaSuccess) {
      return end(Verdict::Refused, engine::cuda_error(made, "Instantiating the graph").message);
    }
    captured.executable = engine::GraphExec(raw);
    for (const MovedMemory& moved : experiment_.moved) {
      if (moved.node.graph != graph) continue;
      Result<engine::DeviceBuffer> fresh =
          move_memory(driver_, captured.executable.get(), captured.read, moved.node.node,
                      *allocation_of(moved.owner));
      if (!fresh.ok()) return fresh.error();
      captured.moved.push_back(std::move(fresh).value());
    }
    return {};
  }

  /// Only plain replays: whatever else an experiment changes costs something itself.
  bool measures_markers() const {
    Experiment plain;
    plain.deadline_seconds = experiment_.deadline_seconds;
    plain.replays = experiment_.replays;
    return experiment_ == plain && experiment_.replays > 0;
  }

  /// None where CUDA refuses: a graph that allocates has no copies.
  static engine::Graph copy_of(const CapturedGraph& captured) {
    cudaGraph_t raw = nullptr;
    if (cudaGraphClone(&raw, captured.graph.get()) != cudaSuccess) {
      (void)cudaGetLastError();
      raw = nullptr;
    }
    return engine::Graph(raw);
  }

  /// The step with and without markers in turns, after the replays that count were right.
  Status measure_marker_cost() {
    if (!measures_markers() || first_wrong_replay(reply_.outcome) > 0) return {};
    for (CapturedGraph& captured : captures_->graphs) {
      if (captured.unmarked.get() == nullptr) return {};
      Result<engine::GraphExec> made = engine::instantiate(captured.unmarked);
      if (!made.ok()) return {};
      captured.unmarked_executable = std::move(made).value();
    }
    std::vector<double> with;
    std::vector<double> without;
    const auto start = std::chrono::steady_clock::now();
    // The first pair warms up the graph that has never run.
    for (int pair = 0; pair <= kMarkerPairs; ++pair) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      if (pair > kFewestMarkerPairs && taken.count() > kMarkerSeconds) break;
      for (const bool marked : {pair % 2 == 0, pair % 2 != 0}) {
        double microseconds = 0;
        if (marked) {
          ENGINE_TRY(launch_graphs(experiment_.replays, &microseconds));
        } else {
          ENGINE_TRY(launch_unmarked(microseconds));
        }
        if (pair > 0) (marked ? with : without).push_back(microseconds);
      }
    }
    std::ranges::sort(with);
    std::ranges::sort(without);
    reply_.outcome.marker_cost = {.samples = static_cast<int>(with.size()),
                                  .with_us = engine::quantile(with, 0.5),
                                  .without_us = engine::quantile(without, 0.5)};
    return {};
  }

  /// As launch_graphs(): the same reset before it, the same wait after every graph.
  Status launch_unmarked(double& microseconds) {
    ENGINE_TRY(subject_.reset(stream_));
    for (std::size_t g = 0; g < captures_->graphs.size(); ++g) {
      cudaGraphExec_t graph = captures_->graphs[g].unmarked_executable.get();
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream_), "Before a replay");
      ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), stream_), "Starting a replay");
      if (const cudaError_t launched = cudaGraphLaunch(graph, stream_); launched != cudaSuccess) {
        return end_with(engine::cuda_error(launched, "A replay without markers"));
      }
      ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), stream_), "Starting a replay");
      const Result<Waited> waited =
          wait_for(done_.get(), deadline_, [this] { return cancelled(); });
      if (!waited.ok()) return end(Verdict::Crashed, waited.error().message);
      if (waited.value() == Waited::Cancelled) {
        reply_.outcome.verdict = Verdict::Hung;  // for the destructor: it may never finish
        return cancel_error();
      }
      if (waited.value() == Waited::Late) {
        return stalled(experiment_.replays, static_cast<int>(g), /*marked=*/false);
      }
      float milliseconds = 0;
      ENGINE_CUDA_TRY(cudaEventElapsedTime(&milliseconds, begin_.get(), done_.get()),
                      "Timing a replay");
      microseconds += 1e3 * static_cast<double>(milliseconds);
    }
    return {};
  }

  Status change_inputs() {
    ENGINE_TRY(subject_.set_inputs(true, stream_));
    if (experiment_.recaptured) {
      const auto discarded = std::exchange(captures_->graphs, {});
      std::vector<GraphSnapshot> again;
      ENGINE_TRY(capture_all(captures_->graphs, again, -1));
      for (std::size_t g = 0; g < captures_->graphs.size(); ++g) ENGINE_TRY(make_executable(g));
    }
    // State that follows the inputs, such as an amax history, settles as it did for eager launches.
    for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(launch_graphs(2, nullptr));
    return {};
  }

  Status make_replay(int replay) {
    if (cancelled()) return cancel_error();
    if (experiment_.changed_inputs && replay == 2) ENGINE_TRY(change_inputs());
    if (replay <= 2) ENGINE_TRY(poison_workspaces());
    if (experiment_.scribbled_host) ENGINE_TRY(subject_.scribble_host());
    double microseconds = 0;
    ENGINE_TRY(launch_graphs(replay, &microseconds));
    reply_.outcome.replay_us.push_back(microseconds);
    Result<Sums> sums = subject_.checksums(stream_);
    if (!sums.ok()) return end_with(sums.error());
    compare(replay, expected_[experiment_.changed_inputs && replay >= 2 ? 1 : 0], sums.value());
    return {};
  }

  Status launch_graphs(int replay, double* microseconds) {
    for (const FilledMemory& filled : experiment_.filled) {
      const engine::Allocation& allocation = *allocation_of(filled.owner);
      ENGINE_CUDA_TRY(cudaMemsetAsync(reinterpret_cast<void*>(allocation.address), filled.value,
                                      allocation.bytes, stream_),
                      "Filling memory before a replay");
    }
    ENGINE_TRY(subject_.reset(stream_));
    watch_.progress.iteration.store(replay - 1);
    for (std::size_t g = 0; g < captures_->graphs.size(); ++g) {
      ENGINE_TRY(launch_graph(replay, g, microseconds));
    }
    return {};
  }

  Status launch_graph(int replay, std::size_t index, double* microseconds) {
    CapturedGraph& captured = captures_->graphs[index];
    if (captured.board) {
      // What was launched before has finished: nothing writes the board now.
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream_), "Before a replay");
      captured.board->clear();
      watch_.board.attach(replay, captured.board->words(), &captured.board->slots(),
                          &captured.board->dependencies());
    }
    ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), stream_), "Starting a replay");
    if (const cudaError_t launched = cudaGraphLaunch(captured.executable.get(), stream_);
        launched != cudaSuccess) {
      return end(device_is_lost(launched) ? Verdict::Crashed : Verdict::Refused,
                 engine::cuda_error(launched, fmt::format("Replay {}", replay).c_str()).message);
    }
    ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), stream_), "Starting a replay");
    const Result<Waited> waited = wait_for(done_.get(), deadline_, [this] { return cancelled(); });
    if (!waited.ok()) return end(Verdict::Crashed, waited.error().message);
    if (waited.value() == Waited::Cancelled) {
      reply_.outcome.verdict = Verdict::Hung;  // for the destructor: it may never finish
      return cancel_error();
    }
    if (waited.value() == Waited::Late) return stalled(replay, static_cast<int>(index));
    watch_.board.detach();
    float milliseconds = 0;
    if (microseconds != nullptr &&
        cudaEventElapsedTime(&milliseconds, begin_.get(), done_.get()) == cudaSuccess) {
      *microseconds += 1e3 * static_cast<double>(milliseconds);
    }
    return {};
  }

  void add_device(Stall& stall) const {
    if (const std::string says = watch_.board.device(); !says.empty()) {
      stall.evidence += "; " + says;
    }
  }

  Status stalled(int replay, int graph, bool marked = true) {
    const std::optional<MarkerBoard>& board =
        captures_->graphs[static_cast<std::size_t>(graph)].board;
    Stall stall{.replay = replay,
                .graph = graph,
                .waited_seconds = deadline_,
                .deadline_seconds = deadline_,
                .nodes = board && marked ? board->read() : std::vector<NodeState>(),
                .evidence = {}};
    for (std::size_t n = 0; n < stall.nodes.size(); ++n) {
      if (stall.nodes[n] == NodeState::Done) stall.last_finished = static_cast<int>(n);
    }
    stall.kind = probe_->triage(stall.nodes, stall.evidence);
    add_device(stall);
    CoreDump dump = take_core_dump(kCoreDumpSeconds);
    stall.core_dump = std::move(dump.path);
    if (!dump.missing.empty()) stall.evidence += "; no core dump: " + dump.missing;
    reply_.outcome.stall = {std::move(stall)};
    return end(Verdict::Hung);
  }

  void compare(int replay, const Sums& expected, const Sums& got) {
    std::size_t at = 0;
    for (const SubjectOutput& output : subject_.outputs()) {
      OutputCheck row{
          .replay = replay, .output = output.name, .parts = output.parts, .wrong_parts = {}};
      for (int part = 0; part < output.parts; ++part, ++at) {
        if (at >= expected.size() || at >= got.size() || expected[at] != got[at]) {
          row.wrong_parts.push_back(part);
        }
      }
      reply_.outcome.checks.push_back(std::move(row));
    }
  }

  Status check_red_zones() {
    if (!experiment_.red_zones) return {};
    const Result<std::vector<std::string>> damaged = engine::RedZones::damaged();
    if (!damaged.ok()) return end_with(damaged.error());
    if (damaged.value().empty()) return {};
    return end(Verdict::Wrong, fmt::format("memory right in front of or behind \"{}\" was written",
                                           fmt::join(damaged.value(), "\", \"")));
  }

  /// What differs when the same program is captured with other inputs: only read, never replayed.
  /// Last, because a capture may change what the program remembers.
  Status capture_variant() {
    if (experiment_.changed_inputs) return {};
    // A subject whose inputs cannot change has no variant; that is no fault of it.
    if (!subject_.set_inputs(true, stream_).ok()) return {};
    std::vector<GraphSnapshot> variants;
    Captures unused;
    const Outcome so_far = reply_.outcome;
    if (!capture_all(unused.graphs, variants, 0).ok()) {
      reply_.outcome = so_far;  // the replays stand, whatever a second capture did
      finished_ = false;
      return {};
    }
    for (GraphSnapshot& variant : variants) {
      reply_.snapshot.graphs.push_back(std::move(variant));
    }
    return {};
  }

  Subject& subject_;
  const Experiment& experiment_;
  const ExperimentFacts& facts_;
  ExperimentWatch watch_;
  cudaStream_t stream_;
  engine::DriverApi driver_;
  std::unique_ptr<Probe> probe_;
  engine::Event begin_;
  engine::Event done_;
  Sums expected_[2];  // of the first inputs and of the changed ones
  double deadline_ = kShortestDeadline;
  bool finished_ = false;
  std::unique_ptr<LoadWatch> load_watch_;
  std::string loads_;      // during the captures of this experiment
  std::string unwatched_;  // why they are not known
  std::unique_ptr<Captures> captures_;
  ExperimentReply reply_;
};

}  // namespace

Result<ExperimentReply> run_experiment(Subject& subject, const Experiment& experiment,
                                       const ExperimentFacts& facts, ExperimentWatch watch,
                                       cudaStream_t stream) {
  return Run(subject, experiment, facts, watch, stream).run();
}

}  // namespace profiling
