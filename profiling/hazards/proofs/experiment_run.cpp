#include "profiling/hazards/proofs/experiment_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/model/replay_deadline.h"
#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/experiment_state.h"
#include "profiling/hazards/proofs/marker_cost.h"
#include "profiling/hazards/proofs/replay_launcher.h"

namespace profiling {
namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::Status;

constexpr int kWarmUps = 2;             // the first step of delayed scaling has no history
constexpr int kEagerLaunches = 3;       // which must agree
constexpr double kDeadlineFactor = 20;  // of the slowest eager launch

class Run {
 public:
  explicit Run(const ExperimentState& state)
      : state_(state),
        captures_(std::make_unique<ExperimentCaptures>(state_)),
        launcher_(std::make_unique<ReplayLauncher>(state_)) {}

  ~Run() {
    state_.watch.board.detach();
    const Verdict verdict = state_.reply.outcome.verdict;
    if (verdict != Verdict::Hung && verdict != Verdict::Crashed) return;
    // Destroying what a hanging replay uses would wait for it: left to process exit.
    (void)captures_.release();
    (void)launcher_.release();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<ExperimentReply> run() {
    const auto start = std::chrono::steady_clock::now();
    const Status status = make_all();
    if (!status.ok() && !state_.finished) return status.error();
    state_.reply.outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(state_.reply);
  }

 private:
  Status make_all() {
    ENGINE_TRY(prepare());
    ENGINE_TRY(launch_eagerly());
    if (!state_.experiment.graph) return end_of_checks();
    describe();
    ENGINE_TRY(captures_->capture());
    ENGINE_TRY(captures_->find_memory());
    ENGINE_TRY(captures_->make_executables());
    for (int replay = 1; replay <= state_.experiment.replays; ++replay) {
      ENGINE_TRY(make_replay(replay));
    }
    ENGINE_TRY(measure_marker_cost(state_, *captures_, *launcher_));
    if (Status noted = state_.subject.noted_errors(state_.stream); !noted.ok()) {
      return state_.end(Verdict::Crashed, noted.error().message);
    }
    ENGINE_TRY(check_red_zones());
    ENGINE_TRY(captures_->capture_variants());
    if (state_.experiment.replays == 0) return captures_->end_capture_only();
    return end_of_checks();
  }

  Status end_of_checks() {
    if (first_wrong_replay(state_.reply.outcome) == 0) return state_.end(Verdict::Right);
    const MovedInputs* const moved = captures_->moved_inputs();
    if (moved == nullptr) return state_.end(Verdict::Wrong);
    const Result<std::string> held = moved->still_held(state_.stream);
    return held.ok() ? state_.end(Verdict::Wrong, held.value()) : state_.end_with(held.error());
  }

  Status prepare() {
    ENGINE_TRY(engine::validate(state_.experiment));
    ENGINE_ASSIGN(state_.driver, engine::load_driver_api());
    ENGINE_TRY(launcher_->prepare());
    state_.watch.progress.iterations.store(state_.experiment.replays);
    return {};
  }

  /// Launches with one set of inputs, which must agree with each other; their time determines the
  /// deadline.
  Status launch_eagerly(int kind) {
    for (int i = 0; i < kWarmUps; ++i) {
      ENGINE_TRY(launcher_->launch_eagerly(engine::kFirstReplayDeadline, nullptr));
    }
    double slowest = 0;
    for (int i = 0; i < kEagerLaunches; ++i) {
      double seconds = 0;
      ENGINE_TRY(launcher_->launch_eagerly(engine::kFirstReplayDeadline, &seconds));
      slowest = std::max(slowest, seconds);
      Result<Sums> sums = state_.subject.checksums(state_.stream);
      if (!sums.ok()) return state_.end_with(sums.error());
      if (i == 0) expected_[kind] = std::move(sums).value();
      if (i > 0 && !state_.experiment.graph) state_.compare(i + 1, expected_[kind], sums.value());
      if (i > 0 && state_.experiment.graph && sums.value() != expected_[kind]) {
        return state_.end(Verdict::NotRun,
                          "eager launches do not agree with each other, so replays cannot be "
                          "compared with them");
      }
    }
    deadline_ = std::max(deadline_, kDeadlineFactor * slowest);
    return {};
  }

  Status launch_eagerly() {
    const int kinds = state_.experiment.changed_inputs ? 2 : 1;
    for (int kind = 0; kind < kinds; ++kind) {
      if (Status set = state_.subject.set_inputs(kind == 1, state_.stream); !set.ok()) {
        if (set.error().code != ErrorCode::Unsupported) return set;
        return state_.end(Verdict::NotRun, set.error().message);
      }
      ENGINE_TRY(launch_eagerly(kind));
    }
    if (state_.experiment.deadline_seconds > 0) deadline_ = state_.experiment.deadline_seconds;
    launcher_->set_deadline(deadline_);
    if (kinds == 2) return state_.subject.set_inputs(false, state_.stream);
    return {};
  }

  void describe() {
    Snapshot& snapshot = state_.reply.snapshot;
    const engine::DeviceFacts& device = state_.facts.device;
    snapshot.subject = state_.subject.title();
    snapshot.step = state_.subject.step();
    snapshot.cublaslt_version = device.cublaslt_version;
    snapshot.device = device.name;
    snapshot.compute_capability = device.compute_capability;
    snapshot.driver = device.driver;
  }

  Status change_inputs() {
    ENGINE_TRY(state_.subject.set_inputs(true, state_.stream));
    if (state_.experiment.recaptured) ENGINE_TRY(captures_->capture_again());
    // State that depends on the inputs, such as an amax history, warms up as in eager launches.
    for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(launcher_->launch_graphs(*captures_, 2, nullptr));
    return {};
  }

  Status make_replay(int replay) {
    if (state_.cancelled()) return ExperimentState::cancel_error();
    const bool changed = state_.experiment.changed_inputs && replay >= 2;
    if (changed && replay == 2) ENGINE_TRY(change_inputs());
    if (state_.experiment.moved_inputs && replay == 2) ENGINE_TRY(captures_->move_inputs());
    if (replay <= 2) ENGINE_TRY(captures_->poison_workspaces());
    if (state_.experiment.scribbled_host) ENGINE_TRY(state_.subject.scribble_host());
    double microseconds = 0;
    ENGINE_TRY(launcher_->launch_graphs(*captures_, replay, &microseconds));
    state_.reply.outcome.replay_us.push_back(microseconds);
    Result<Sums> sums = state_.subject.checksums(state_.stream);
    if (!sums.ok()) return state_.end_with(sums.error());
    state_.compare(replay, expected_[changed ? 1 : 0], sums.value());
    return {};
  }

  Status check_red_zones() {
    if (!state_.experiment.red_zones) return {};
    const Result<std::vector<std::string>> damaged = engine::RedZones::damaged();
    if (!damaged.ok()) return state_.end_with(damaged.error());
    if (damaged.value().empty()) return {};
    return state_.end(Verdict::Wrong, fmt::format("memory right before or after \"{}\" was written",
                                                  fmt::join(damaged.value(), "\", \"")));
  }

  ExperimentState state_;
  std::unique_ptr<ExperimentCaptures> captures_;
  std::unique_ptr<ReplayLauncher> launcher_;
  Sums expected_[2];  // of the first inputs and of the changed ones
  double deadline_ = engine::kShortestReplayDeadline;
};

}  // namespace

Result<ExperimentReply> run_experiment(Subject& subject, const Experiment& experiment,
                                       const ExperimentFacts& facts, ExperimentWatch watch,
                                       cudaStream_t stream) {
  return Run({.subject = subject,
              .experiment = experiment,
              .facts = facts,
              .watch = watch,
              .stream = stream})
      .run();
}

}  // namespace profiling
