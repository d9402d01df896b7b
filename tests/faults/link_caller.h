// The link's caller, like a window: polls, counts what it gets, records runs, and is never blocked.
// What the link does against its promises is a complaint.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/controllers/recorder.h"
#include "app/protocol/worker_link.h"
#include "tests/faults/process_facts.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

inline constexpr double kCallSeconds = 2;  // for any call of the link
/// Until a well-behaved worker answers: only a hang takes this long.
inline constexpr double kAnswerSeconds = 20;

inline std::atomic<std::uint64_t> next_run_seed{1};

class Caller {
 public:
  Caller(std::vector<std::string> argv, Recorder* recorder, double patience)
      : recorder_(recorder), patience_(patience) {
    timed("start()", [&] { link_ = WorkerLink::start({.argv = std::move(argv), .wake = [] {}}); });
  }
  ~Caller() { leave(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  std::uint64_t order() {
    engine::RunRequest request;
    request.seed = next_run_seed++;
    std::uint64_t id = 0;
    timed("submit()", [&] { id = link_->submit(request); });
    if (!ordered_.emplace(id, request).second) complain(fmt::format("order id {} twice", id));
    return id;
  }
  /// Orders of other kinds share the ids.
  void ordered_other(std::uint64_t id) { ordered_.emplace(id, engine::RunRequest{}); }
  WorkerLink& link() { return *link_; }
  /// pid of the worker; waits until it runs.
  pid_t pid() {
    wait([&] { return status().pid > 0; }, kAnswerSeconds);
    return pid_;
  }

  LinkStatus status() {
    LinkStatus now;
    timed("status()", [&] { now = link_->status(); });
    if (now.pid > 0) pid_ = now.pid;
    if ((now.state == LinkState::Lost || now.state == LinkState::Stalled) && now.reason.empty()) {
      complain("lost or stalled without a reason");
    }
    return now;
  }

  void poll() {
    std::vector<LinkEvent> events;
    timed("poll()", [&] { events = link_->poll(); });
    for (LinkEvent& event : events) take(event);
  }

  bool wait(const std::function<bool()>& done, double seconds) {
    const auto end = Clock::now() + Seconds(seconds * patience_);
    while (true) {
      // Status first: events that arrived before the worker ended must be handled before its end.
      const bool over = Clock::now() > end;
      poll();
      if (done()) return true;
      if (over) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  bool wait_for_state(LinkState state, double seconds) {
    return wait([&] { return status().state == state; }, seconds);
  }
  bool answered(std::uint64_t id) const { return answers_.contains(id); }
  int rows() const { return rows_; }
  bool all_answered() const {
    return std::all_of(ordered_.begin(), ordered_.end(),
                       [&](const auto& order) { return answers_.contains(order.first); });
  }
  bool finished(std::uint64_t id) const {
    const auto found = finished_.find(id);
    return found != finished_.end() && found->second > 0;
  }

  void leave() {
    if (link_ == nullptr) return;
    poll();
    status();
    timed("the link's end", [&] { link_.reset(); });
    if (pid_ > 0 && !gone(pid_)) complain("the worker outlives its link");
    int never_given = 0;
    for (const auto& [id, count] : answers_) {
      if (!ordered_.contains(id)) {
        ++never_given;
      } else if (count > 1) {
        complain(fmt::format("order {} was answered {} times", id, count));
      }
    }
    if (never_given > 0) {
      complain(fmt::format("the caller got {} answers to orders it never gave", never_given));
    }
  }

  /// The processes that the worker reported leaving behind.
  const std::vector<pid_t>& left_behind() const { return left_behind_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  void complain(std::string what) {
    if (complaints_.size() < 5) complaints_.push_back(std::move(what));
  }
  /// Seeds of the runs that a well-behaved worker finished and this caller received.
  const std::vector<std::uint64_t>& kept() const { return kept_; }
  template <class Call>
  void timed(const char* what, Call call) {
    const auto start = Clock::now();
    call();
    const double seconds = Seconds(Clock::now() - start).count();
    if (seconds > kCallSeconds * patience_)
      complain(fmt::format("{} took {:.1f} s", what, seconds));
  }

 private:
  void take(LinkEvent& event) {
    if (auto* done = std::get_if<RunDone>(&event)) {
      take_run(*done);
    } else if (const auto* failure = std::get_if<RunError>(&event)) {
      ++answers_[failure->id];
    } else if (const auto* compared = std::get_if<engine::RecipeComparison>(&event)) {
      ++answers_[compared->id];
    } else if (const auto* measured = std::get_if<BenchDone>(&event)) {
      ++answers_[measured->id];
    } else if (std::holds_alternative<BenchRowReport>(event)) {
      ++rows_;
    } else if (const auto* line = std::get_if<LogReport>(&event)) {
      int parent = 0;
      int child = 0;
      if (std::sscanf(line->text.c_str(), "child %d %d", &parent, &child) == 2) {
        left_behind_.push_back(child);
      }
    }
  }

  void take_run(RunDone& done) {
    const std::uint64_t id = done.result.id;
    ++answers_[id];
    const auto order = ordered_.find(id);
    profiling::RecordedRun run;
    run.request = order == ordered_.end() ? done.result.effective : order->second;
    // Completely right: the worker behaved. Any value of a hostile one may be wrong, and it is
    // recorded as the window would.
    if (order != ordered_.end() && is_as_ordered(done, order->second)) {
      ++finished_[id];
      kept_.push_back(run.request.seed);
    } else {
      run.request.seed = 0;
    }
    run.result = std::move(done.result);
    run.activity = std::move(done.activity);
    run.snapshot = std::move(done.snapshot);
    run.power = std::move(done.power);
    run.wall_clock_ms = 1;
    if (recorder_ != nullptr) {
      recorder_->append(std::make_shared<const profiling::RecordedRun>(std::move(run)));
    }
  }

  static bool is_as_ordered(const RunDone& done, const engine::RunRequest& request) {
    profiling::RecordedRun expected = profiling::sample_run(static_cast<int>(request.seed % 50));
    return done.result.effective.seed == request.seed &&
           done.result.wall_ns == expected.result.wall_ns &&
           done.result.splits == expected.result.splits &&
           done.activity.records.size() == expected.activity.records.size() &&
           done.snapshot == expected.snapshot;
  }

  Recorder* recorder_;
  const double patience_;
  std::unique_ptr<WorkerLink> link_;
  pid_t pid_ = 0;
  int rows_ = 0;
  std::map<std::uint64_t, engine::RunRequest> ordered_;
  std::map<std::uint64_t, int> answers_;
  std::map<std::uint64_t, int> finished_;
  std::vector<std::uint64_t> kept_;
  std::vector<pid_t> left_behind_;
  std::vector<std::string> complaints_;
};

}  // namespace app::testing
