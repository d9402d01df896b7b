// The real link and the real recorder against faulty workers, thousands of faults per minute, as
// many at a time as there are desks. Rounds (fault_round.h) come in chapters: after each, with
// nothing in progress, the finished runs are looked up in the recordings, and nothing of the
// workers may be left.
//
// Fault I of seed S is the same whatever the desks do: `link_storm --seed S --only I` repeats it.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/controllers/recorder.h"
#include "profiling/session/session_file.h"
#include "tests/faults/fault_kinds.h"
#include "tests/faults/fault_round.h"
#include "tests/faults/link_caller.h"
#include "tests/faults/process_facts.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {
namespace {

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

constexpr std::int64_t kMostHeapGrowth = 8 << 20;
constexpr std::int64_t kMostResidentGrowth = 64 << 20;

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
    const std::vector<std::string> wrong =
        FaultRound(fault, options_.patience, book.recorder()).run(book.kept());
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
