// The real link and the real recorder against faulty workers, thousands of faults per minute, as
// many at a time as there are desks. A fault is one round: a fresh worker, orders it answers
// correctly, the fault, what must be observed of it, and the end. Rounds come in chapters: after
// each, with nothing in progress, the finished runs are looked up in the recordings, and nothing of
// the workers may be left.
//
// Fault I of seed S is the same whatever the desks do: `link_storm --seed S --only I` repeats it.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/controllers/recorder.h"
#include "app/protocol/paths.h"
#include "app/protocol/worker_link.h"
#include "profiling/session/session_file.h"
#include "tests/faults/fault_kinds.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using namespace std::chrono_literals;

struct StormOptions {
  int faults = 1000;
  std::uint64_t seed = 1;
  std::int64_t only = -1;  // one fault, reported in detail
  std::string kind;        // of this kind only
  int desks = 12;
  int chapter = 1000;   // faults between two leak checks
  double patience = 1;  // factor that extends every limit on a loaded machine
};

constexpr double kNoticeSeconds = 2;   // until a fault is reported
constexpr double kCallSeconds = 2;     // for any call of the link
constexpr double kAnswerSeconds = 20;  // of a well-behaved worker: only a hang takes this long
constexpr std::size_t kMostQueuedBytes = 64U << 20;
constexpr std::int64_t kMostHeapGrowth = 8 << 20;
constexpr std::int64_t kMostResidentGrowth = 64 << 20;

std::atomic<std::uint64_t> next_run_seed{1};

/// Collects broken promises, with the command that repeats each.
class Complaints {
 public:
  explicit Complaints(const StormOptions& options) : options_(options) {}
  void add(std::int64_t fault, std::string_view kind, const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++count_;
    if (count_ > 200) return;
    if (fault < 0) {
      fmt::print("failure {} (seed {})\n", what, options_.seed);
    } else {
      fmt::print("failure {}: {}; repeat with: link_storm --seed {} --only {}\n", kind, what,
                 options_.seed, fault);
    }
    std::fflush(stdout);
  }
  int count() const { return count_; }

 private:
  const StormOptions& options_;
  mutable std::mutex mutex_;
  int count_ = 0;
};

std::size_t heap_bytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

int entries(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

/// Children of this process, including zombies.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent) == 2 &&
        parent == ::getpid()) {
      found.push_back(pid);
    }
  }
  return found;
}

/// What the user is told about a link that gives no answer.
bool has_word(const LinkStatus& status) { return status.cancel_overdue || !status.reason.empty(); }

bool gone(pid_t pid) {
  if (::waitpid(pid, nullptr, WNOHANG) == pid) return true;
  return ::kill(pid, 0) != 0;
}

/// The link's caller, like a window: polls, counts what it gets, records runs, and is never
/// blocked.
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
      std::this_thread::sleep_for(1ms);
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

struct Fault {
  std::int64_t index;
  std::uint64_t seed;
  const FaultKind* kind;
};

Fault fault_of(const StormOptions& options, std::int64_t index) {
  std::seed_seq mixed{options.seed, static_cast<std::uint64_t>(index)};
  std::mt19937_64 random(mixed);
  const std::uint64_t seed = random() >> 1;
  if (!options.kind.empty()) return {index, seed, find_kind(options.kind)};
  // Each once, so that even a short storm has them all; then by weight.
  if (index < std::ssize(kFaultKinds)) return {index, seed, &kFaultKinds[index]};
  std::vector<double> weights;
  for (const FaultKind& kind : kFaultKinds) weights.push_back(kind.weight);
  std::discrete_distribution<std::size_t> choose(weights.begin(), weights.end());
  return {index, seed, &kFaultKinds[choose(random)]};
}

/// One fault from a fresh worker to its end.
class Round {
 public:
  Round(const Fault& fault, const StormOptions& options, Recorder* recorder)
      : fault_(fault),
        options_(options),
        recorder_(recorder),
        random_(fault.seed),
        orders_before_(static_cast<int>(random_() % 3)) {}

  /// Returns what was wrong; empty = every promise was kept. Appends the runs that must be in the
  /// recording.
  std::vector<std::string> run(std::vector<std::uint64_t>& kept) {
    {
      Caller caller = started(fault_.kind->name);
      go(caller);
      caller.leave();
      look_for_children(caller);
      settle(caller, kept);
    }
    // Most faults are followed by another desk's fresh worker; those at the start have none before
    // them.
    if (fault_.kind->moment == Moment::Start || random_() % 8 == 0) {
      Caller fresh = started("none");
      const std::uint64_t id = fresh.order();
      if (!fresh.wait([&] { return fresh.finished(id); }, kAnswerSeconds)) {
        fresh.complain("a fresh worker after it does not answer");
      }
      fresh.leave();
      settle(fresh, kept);
    }
    return complaints_;
  }

 private:
  Caller started(std::string_view kind) {
    return Caller({executable_folder() + "/faulty_worker", std::string(kind),
                   fmt::to_string(fault_.seed), fmt::to_string(orders_before_)},
                  recorder_, options_.patience);
  }

  void settle(const Caller& caller, std::vector<std::uint64_t>& kept) {
    complaints_.insert(complaints_.end(), caller.complaints().begin(), caller.complaints().end());
    kept.insert(kept.end(), caller.kept().begin(), caller.kept().end());
  }

  void go(Caller& caller) {
    switch (fault_.kind->moment) {
      case Moment::Start:
        return expect(caller, 0);
      case Moment::Order: {
        if (!orders_before(caller)) return;
        if (fault_.kind->name == "great-flood") return great_flood(caller);
        if (fault_.kind->name == "owed-flood") return owed_flood(caller);
        return expect(caller, caller.order());
      }
      case Moment::Signal:
        return signal(caller);
      case Moment::Caller:
        return haste(caller);
    }
  }

  bool orders_before(Caller& caller) {
    for (int i = 0; i < orders_before_; ++i) {
      const std::uint64_t id = caller.order();
      if (!caller.wait([&] { return caller.finished(id); }, kAnswerSeconds)) {
        caller.complain(fmt::format("before the fault: order {} is not answered, the link is {}",
                                    id, words(caller)));
        return false;
      }
    }
    return true;
  }

  static std::string words(Caller& caller) {
    constexpr const char* kNames[] = {"starting", "responsive", "busy", "stalled", "lost"};
    const LinkStatus now = caller.status();
    return fmt::format("{} ({})", kNames[static_cast<std::size_t>(now.state)], now.reason);
  }

  void expect(Caller& caller, std::uint64_t id) {
    switch (fault_.kind->expect) {
      case Expect::Lost:
        return expect_state(caller, LinkState::Lost, id);
      case Expect::Stalled:
        return expect_state(caller, LinkState::Stalled);
      case Expect::Lives:
        return expect_life(caller, id);
      case Expect::LostOrLives:
        return expect_either(caller, id);
      case Expect::Waits:
        return expect_freedom(caller);
      case Expect::Shown:
        if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
          caller.complain(
              fmt::format("a hostile result is not let in, the link is {}", words(caller)));
        }
        return expect_life(caller, 0);
    }
  }

  /// `id`: an order that is answered before the worker breaks its promise.
  void expect_state(Caller& caller, LinkState state, std::uint64_t id = 0) {
    if (!caller.wait_for_state(state, kNoticeSeconds)) {
      caller.complain(fmt::format("after {} s the link is {}, not {}", kNoticeSeconds,
                                  words(caller), state == LinkState::Lost ? "lost" : "stalled"));
    }
    const bool answers_first =
        fault_.kind->name == "answers-twice" || fault_.kind->name == "fails-and-finishes";
    if (id != 0 && answers_first && !caller.finished(id)) {
      caller.complain("a finished run did not arrive");
    }
  }

  void expect_life(Caller& caller, std::uint64_t id) {
    if (fault_.kind->name == "answers-reversed") {
      // The second is sent once the worker holds the first.
      caller.wait([&] { return caller.status().pulse.request_id == id; }, 0.5);
      const std::uint64_t second = caller.order();
      if (!caller.wait([&] { return caller.answered(second); }, kAnswerSeconds)) {
        caller.complain("the second of two orders is not answered");
      }
    }
    if (id != 0 && !caller.wait([&] { return caller.finished(id); }, kAnswerSeconds)) {
      caller.complain(fmt::format("the order is not answered, the link is {}", words(caller)));
      return;
    }
    const std::uint64_t next = caller.order();
    if (!caller.wait([&] { return caller.finished(next); }, kAnswerSeconds)) {
      caller.complain(fmt::format("the next order is not answered, the link is {}", words(caller)));
    }
  }

  void expect_either(Caller& caller, std::uint64_t id) {
    const auto lost = [&] { return caller.status().state == LinkState::Lost; };
    caller.wait([&] { return lost() || (id != 0 && caller.answered(id)); }, 0.3);
    if (lost()) return refused(caller);
    const std::uint64_t next = caller.order();
    if (caller.wait([&] { return lost() || caller.finished(next); }, kNoticeSeconds)) {
      if (lost()) refused(caller);
      return;
    }
    // A length that grew swallows what follows: equivalent to no answer at all.
    expect_freedom(caller);
  }

  /// By the link, not by an accidental crash of the faulty worker.
  static void refused(Caller& caller) {
    const std::string reason = caller.status().reason;
    if (reason.starts_with("exited with") || reason.starts_with("killed by")) {
      caller.complain("the link had no word on it: the worker " + reason);
    }
  }

  /// No answer comes. A cancel gets a response within two seconds, and the caller may leave.
  void expect_freedom(Caller& caller) {
    if (fault_.kind->name == "deaf") {
      // More than a pipe holds, before or after an order.
      const bool order_first = random_() % 2 == 0;
      if (order_first) caller.order();
      caller.wait([] { return false; }, 0.05);
      caller.timed("inspect_file()",
                   [&] { caller.link().inspect_file({.path = std::string(1 << 20, 'p')}); });
      if (!order_first) caller.order();
    }
    caller.wait([&] { return caller.status().state == LinkState::Lost; }, 0.2);
    if (caller.status().state == LinkState::Starting) return;
    caller.timed("cancel()", [&] { caller.link().cancel(); });
    const auto word = [&] { return has_word(caller.status()) || caller.all_answered(); };
    if (!caller.wait(word, kNoticeSeconds + 1)) {
      caller.complain(
          fmt::format("a cancel that is not answered has no word after {} s: the link is {}",
                      kNoticeSeconds + 1, words(caller)));
    }
  }

  void pause(std::uint64_t most_us) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % most_us));
  }

  void signal(Caller& caller) {
    const int number = fault_.kind->number;
    const bool gentle = number == SIGCONT || number == SIGSTOP;
    // Before the greeting silence is allowed ten seconds: a stopped worker is detected by its
    // pulses.
    const bool greeted = gentle || random_() % 4 != 0;
    if (greeted && !caller.wait_for_state(LinkState::Responsive, kAnswerSeconds)) {
      return caller.complain("the worker does not greet");
    }
    const std::uint64_t id = greeted && random_() % 4 != 0 ? caller.order() : 0;
    pause(greeted ? 3000 : 20'000);
    ::kill(caller.pid(), gentle ? SIGSTOP : number);
    if (number == SIGCONT) {
      pause(100'000);
      ::kill(caller.pid(), SIGCONT);
      return expect_life(caller, id);
    }
    expect(caller, id);
    if (number == SIGSTOP && random_() % 2 == 0) {
      ::kill(caller.pid(), SIGCONT);
      expect_life(caller, id);
    }
  }

  void haste(Caller& caller) {
    if (fault_.kind->name == "caller-cancels") return cancel_and_order(caller);
    if (random_() % 2 == 0) caller.wait_for_state(LinkState::Responsive, kAnswerSeconds);
    if (random_() % 2 == 0) caller.order();
    pause(20'000);
    if (fault_.kind->name == "caller-leaves") return caller.leave();
    caller.timed("kill()", [&] { caller.link().kill(); });
    expect_state(caller, LinkState::Lost);
  }

  /// In any sequence: every order has one answer, even if another one replaced it.
  void cancel_and_order(Caller& caller) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t n = 1 + random_() % 20; n > 0; --n) {
      switch (random_() % 6) {
        case 0:
          caller.timed("cancel()", [&] { caller.link().cancel(); });
          break;
        case 1:
          caller.link().inspect_file({.path = "/nowhere"});
          break;
        case 2:
          caller.link().watch_device(random_() % 2 == 0);
          break;
        case 3:
          ids.push_back(caller.link().submit(engine::ComparisonRequest{}));
          caller.ordered_other(ids.back());
          break;
        case 4:
          ids.push_back(caller.link().submit(engine::default_series({})));
          caller.ordered_other(ids.back());
          break;
        default:
          ids.push_back(caller.order());
      }
      pause(2000);
    }
    ids.push_back(caller.order());
    for (const std::uint64_t id : ids) {
      if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
        caller.complain(fmt::format("order {} of {} has no answer", id, ids.size()));
      }
    }
  }

  /// Alone in the process, so that the heap shows what the link keeps while it is not polled.
  void watch_heap(Caller& caller, const std::function<void()>& begin) {
    const std::size_t before = heap_bytes();
    begin();
    std::size_t most = 0;
    for (const auto end = Clock::now() + 2s; Clock::now() < end;) {
      most = std::max(most, heap_bytes());
      std::this_thread::sleep_for(5ms);
    }
    const std::size_t kept = most > before ? most - before : 0;
    if (kept > kMostQueuedBytes) {
      caller.complain(fmt::format("unread events take {} MB; the limit is {}", kept >> 20,
                                  kMostQueuedBytes >> 20));
    }
  }

  void great_flood(Caller& caller) {
    std::uint64_t id = 0;
    watch_heap(caller, [&] { id = caller.order(); });
    expect_either(caller, id);
  }

  void owed_flood(Caller& caller) {
    std::uint64_t id = 0;
    watch_heap(caller, [&] { id = caller.link().submit(engine::BenchOrder{}); });
    caller.ordered_other(id);
    if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
      caller.complain(
          fmt::format("an order of many rows does not end, the link is {}", words(caller)));
    }
    if (caller.rows() != kOwedRows) {
      caller.complain(fmt::format("{} of {} rows arrived", caller.rows(), kOwedRows));
    }
    expect_life(caller, 0);
  }

  void look_for_children(Caller& caller) {
    for (const pid_t child : caller.left_behind()) {
      const auto end = Clock::now() + Seconds(kNoticeSeconds * options_.patience);
      while (!gone(child) && Clock::now() < end) std::this_thread::sleep_for(1ms);
      if (gone(child)) continue;
      caller.complain(fmt::format("a child of the worker ({}) outlives it", child));
      ::kill(child, SIGKILL);
    }
  }

  const Fault fault_;
  const StormOptions& options_;
  Recorder* recorder_;
  std::mt19937_64 random_;
  const int orders_before_;
  std::vector<std::string> complaints_;
};

/// A recording and the runs that must be in it.
class Book {
 public:
  Book(std::string path, Complaints& complaints)
      : path_(std::move(path)),
        complaints_(complaints),
        recorder_(std::make_unique<Recorder>(path_, [] {})) {}

  Recorder* recorder() { return recorder_.get(); }
  std::vector<std::uint64_t>& kept() { return kept_; }
  std::size_t close() {
    const auto complain = [&](const std::string& what) {
      complaints_.add(-1, "recording", fmt::format("recording {}: {}", path_, what));
    };
    recorder_->finish();
    while (!recorder_->progress().finished) std::this_thread::sleep_for(1ms);
    if (const std::string error = recorder_->progress().error; !error.empty()) {
      complain("ended early: " + error);
    }
    recorder_.reset();
    // A recording to which no run came is not left behind.
    if (kept_.empty() && !std::filesystem::exists(path_)) return 0;
    const auto session = profiling::open_session(path_);
    if (!session.ok()) {
      complain(
          fmt::format("{} finished runs, not readable: {}", kept_.size(), session.error().message));
      return 0;
    }
    std::map<std::uint64_t, int> found;
    for (const profiling::RecordedRun& run : session.value().runs) ++found[run.request.seed];
    int lost = 0;
    int again = 0;
    for (const std::uint64_t seed : kept_) {
      const int times = found[seed];
      lost += times == 0;
      again += times > 1;
    }
    if (lost > 0) complain(fmt::format("{} of {} finished runs are lost", lost, kept_.size()));
    if (again > 0) complain(fmt::format("{} finished runs are recorded more than once", again));
    std::error_code ignored;
    for (const char* end : {"", "-wal"}) std::filesystem::remove(path_ + end, ignored);
    return kept_.size();
  }

 private:
  const std::string path_;
  Complaints& complaints_;
  std::unique_ptr<Recorder> recorder_;
  std::vector<std::uint64_t> kept_;
};

class Storm {
 public:
  Storm(const StormOptions& options, std::string folder)
      : options_(options), folder_(std::move(folder)), complaints_(options) {}

  int run() {
    const auto start = Clock::now();
    const std::int64_t first = options_.only >= 0 ? options_.only : 0;
    const std::int64_t last = options_.only >= 0 ? first + 1 : options_.faults;
    for (std::int64_t at = first; at < last; at += options_.chapter) {
      chapter(at, std::min(last, at + options_.chapter));
      look_for_leaks(at == first);
    }
    for (const auto& [kind, count] : counts_) fmt::print("faults {} {}\n", kind, count);
    fmt::print("measured finished-runs-recorded {} runs\n", recorded_);
    fmt::print("measured heap-growth {:.2f} MB\n", static_cast<double>(heap_growth_) / (1 << 20));
    fmt::print("measured resident-growth {:.2f} MB\n",
               static_cast<double>(resident_growth_) / (1 << 20));
    fmt::print("measured duration {:.1f} s\n", Seconds(Clock::now() - start).count());
    if (complaints_.count() > 0) fmt::print("{} broken promises\n", complaints_.count());
    return complaints_.count() == 0 ? 0 : 1;
  }

 private:
  void chapter(std::int64_t first, std::int64_t last) {
    std::atomic<std::int64_t> next{first};
    std::vector<Fault> alone;
    std::vector<std::thread> desks;
    for (int desk = 0; desk < options_.desks; ++desk) {
      desks.emplace_back([&, desk] {
        Book book(fmt::format("{}/{}-{}.session", folder_, first, desk), complaints_);
        while (true) {
          const std::int64_t index = next++;
          if (index >= last) break;
          const Fault fault = fault_of(options_, index);
          if (fault.kind->name.ends_with("-flood")) {
            const std::lock_guard lock(mutex_);
            alone.push_back(fault);
          } else {
            one(fault, book);
          }
        }
        const std::size_t recorded = book.close();
        const std::lock_guard lock(mutex_);
        recorded_ += recorded;
      });
    }
    for (std::thread& desk : desks) desk.join();
    if (alone.empty()) return;
    Book book(fmt::format("{}/{}-alone.session", folder_, first), complaints_);
    for (const Fault& fault : alone) one(fault, book);
    recorded_ += book.close();
  }

  void one(const Fault& fault, Book& book) {
    const auto start = Clock::now();
    const std::vector<std::string> wrong = Round(fault, options_, book.recorder()).run(book.kept());
    for (const std::string& what : wrong) complaints_.add(fault.index, fault.kind->name, what);
    const std::lock_guard lock(mutex_);
    ++counts_[fault.kind->name];
    if (options_.only >= 0) {
      fmt::print("fault {}: {} ({}), {:.2f} s\n", fault.index, fault.kind->name, fault.kind->what,
                 Seconds(Clock::now() - start).count());
    }
  }

  /// Between chapters nothing is in progress. What the first chapter leaves (arenas, SQLite's and
  /// Protobuf's own) is the baseline.
  void look_for_leaks(bool first) {
    for (const pid_t child : children()) {
      if (::waitpid(child, nullptr, WNOHANG) == child) continue;  // adopted, and ended
      complaints_.add(-1, "", fmt::format("process {} is left between chapters", child));
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::malloc_trim(0);
    const Floor now{.heap = static_cast<std::int64_t>(heap_bytes()),
                    .resident = resident_bytes(),
                    .descriptors = entries("/proc/self/fd"),
                    .threads = entries("/proc/self/task")};
    if (first) {
      floor_ = now;
      return;
    }
    heap_growth_ = now.heap - floor_.heap;
    resident_growth_ = now.resident - floor_.resident;
    const auto complain = [&](const std::string& what) { complaints_.add(-1, "", what); };
    if (heap_growth_ > kMostHeapGrowth) {
      complain(fmt::format("the heap grew by {} kB", heap_growth_ >> 10));
    }
    if (resident_growth_ > kMostResidentGrowth) {
      complain(fmt::format("the process grew by {} kB", resident_growth_ >> 10));
    }
    if (now.descriptors != floor_.descriptors) {
      complain(fmt::format("{} descriptors are open, not {}", now.descriptors, floor_.descriptors));
    }
    if (now.threads != floor_.threads) {
      complain(fmt::format("{} threads live, not {}", now.threads, floor_.threads));
    }
  }

  struct Floor {
    std::int64_t heap = 0;
    std::int64_t resident = 0;
    int descriptors = 0;
    int threads = 0;
  };

  const StormOptions& options_;
  const std::string folder_;
  Complaints complaints_;
  std::mutex mutex_;
  std::map<std::string_view, int> counts_;
  std::size_t recorded_ = 0;
  Floor floor_;
  std::int64_t heap_growth_ = 0;
  std::int64_t resident_growth_ = 0;
};

int storm(const StormOptions& options) {
  // A per-thread arena keeps what was freed in it, in fragments: not a leak, but it looks like one.
  ::mallopt(M_ARENA_MAX, 1);
  // What a worker leaves behind becomes a child of this process, so that it can be found.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const profiling::ScratchFolder folder;
  return Storm(options, folder.file("")).run();
}

}  // namespace
}  // namespace app::testing

int main(int argc, char** argv) {
  CLI::App program("The link and the recorder against faulty workers.", "link_storm");
  app::testing::StormOptions options;
  program.add_option("--faults", options.faults, "Faults")->check(CLI::PositiveNumber);
  program.add_option("--seed", options.seed, "Everything follows from it");
  program.add_option("--only", options.only, "This fault of the seed only");
  program.add_option("--kind", options.kind, "Faults of this kind only");
  program.add_option("--desks", options.desks, "Workers at a time")->check(CLI::Range(1, 64));
  program.add_option("--chapter", options.chapter, "Faults between two leak checks")
      ->check(CLI::PositiveNumber);
  program.add_option("--patience", options.patience, "Extends every limit by this factor")
      ->check(CLI::Range(1.0, 100.0));
  CLI11_PARSE(program, argc, argv);
  if (const char* slower = std::getenv("EXPERTSCOPE_PATIENCE")) {
    options.patience *= std::max(1.0, std::atof(slower));
  }
  if (!options.kind.empty() && app::testing::find_kind(options.kind) == nullptr) {
    fmt::print(stderr, "there is no fault '{}'; faulty_worker --list has them\n", options.kind);
    return 2;
  }
  return app::testing::storm(options);
}
