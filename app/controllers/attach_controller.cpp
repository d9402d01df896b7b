// The watching thread reads, examines and then publishes under a lock that nobody holds for long. A
// launch changes a process, so a busy program would give a new report with every look: one is
// passed on only where it says something else than the one before.
#include "app/controllers/attach_controller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "app/attach/attached_program.h"
#include "app/attach/bounded_output.h"
#include "app/attach/command_words.h"
#include "app/attach/finding_lines.h"
#include "app/doctor/library_versions.h"
#include "engine/input/regular_file.h"
#include "engine/model/unique_fd.h"

namespace app {
namespace {

using WatchClock = std::chrono::steady_clock;
using ReportFacts = std::vector<profiling::LibraryFact>;

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::chrono::seconds kRateInterval{1};
constexpr std::size_t kOutputLines = 8;
constexpr std::size_t kOutputBytes = 8192;
constexpr std::size_t kMaxFindingLines = 200;

std::string output_file_in(const std::string& folder) { return folder + "/output.txt"; }

/// A progress bar writes its line again after a carriage return: the newest one counts.
std::vector<std::string> last_lines(const std::string& path) {
  engine::Result<engine::RegularFile> file = engine::RegularFile::open(path);
  if (!file.ok()) return {};
  const std::size_t size = file.value().size();
  ::lseek(file.value().descriptor(), static_cast<off_t>(size - std::min(size, kOutputBytes)),
          SEEK_SET);
  const engine::Result<std::string> end = file.value().read(kOutputBytes);
  if (!end.ok()) return {};
  std::istringstream text(end.value());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    const std::size_t again = line.rfind('\r');
    if (again != std::string::npos) line.erase(0, again + 1);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (lines.size() > kOutputLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kOutputLines));
  return lines;
}

profiling::RecordedVisit visit_of(const profiling::DoctorReport& report) {
  return {.request = engine::RunRequest(),
          .report = report,
          .wall_clock_ms = profiling::unix_time_ms()};
}

bool says_the_same(const profiling::DoctorReport& a, const profiling::DoctorReport& b) {
  return a.snapshot.subject == b.snapshot.subject && a.conclusion == b.conclusion &&
         std::ranges::equal(a.findings, b.findings,
                            [](const profiling::Finding& x, const profiling::Finding& y) {
                              return x.rule == y.rule && x.title == y.title &&
                                     x.confidence == y.confidence;
                            }) &&
         std::ranges::equal(
             a.snapshot.graphs, b.snapshot.graphs,
             [](const profiling::GraphSnapshot& x, const profiling::GraphSnapshot& y) {
               return x.name == y.name && x.nodes == y.nodes && x.edges.size() == y.edges.size();
             });
}

}  // namespace

/// What the watching thread and the window share. The thread alone writes `now`.
struct AttachController::Watch {
  std::mutex mutex;
  AttachStatus now;
  std::vector<AttachedVisit> visits;  // that the window has not taken yet
  bool changed = false;
  engine::UniqueFd
      printed;  // the output file of a program elsewhere, which writes until it is gone
  std::unique_ptr<RunningProgram> program;
  bool give_up = false;  // while the program is being started
  bool stop_watching = false;
  bool leave = false;  // the window closes

  /// The thread's own.
  struct Examined {
    std::uint64_t revision = 0;
    std::optional<profiling::DoctorReport> report;
    std::uint64_t counted_launches = 0;
    WatchClock::time_point counted_at{};
    double per_second = -1;
    bool passed_on_as_last = false;
  };
  std::map<std::string, Examined> examined;
  FindingLines findings;
  WatchClock::time_point next_look{};

  bool asked(bool Watch::* what) {
    const std::lock_guard lock(mutex);
    return this->*what;
  }
  std::optional<std::string> program_end() {
    const std::lock_guard lock(mutex);
    return program != nullptr ? program->ended() : std::nullopt;
  }

  /// What the program has printed; `ended`: it prints nothing more.
  void read_output(const std::string& file, bool ended);
  /// Publishes what has changed since the last look. `standing`: nothing moves, so that counts of
  /// launches can be compared between ranks.
  void look(const SpoolFolder& spools, const ReportFacts& facts, bool last, bool standing);
  engine::Result<std::unique_ptr<RunningProgram>> started(AttachOptions options,
                                                          const RemotePlace& place);
  engine::Status follow(const AttachOptions& options, const RemotePlace& place,
                        const ReportFacts& facts, HangOptions hang,
                        const std::function<void()>& wake);
  engine::Status read(const std::string& folder, const ReportFacts& facts);
};

void AttachController::Watch::look(const SpoolFolder& spools, const ReportFacts& facts, bool last,
                                   bool standing) {
  std::vector<WatchedProcess> processes;
  std::vector<AttachedVisit> made;
  std::vector<std::string> lines;
  for (AttachedProcess& process : spools.processes()) {
    Examined& before = examined[process.spool];
    const bool fresh = before.revision != process.revision;
    if (fresh) {
      before.revision = process.revision;
      std::optional<profiling::DoctorReport> report = spools.report(process.spool, facts);
      const bool news = report && !(before.report && says_the_same(*report, *before.report));
      if (report) {
        for (std::string& line : findings.take(*report)) lines.push_back(std::move(line));
        before.report = std::move(report);
      }
      if (news && !last) made.push_back({process.spool, visit_of(*before.report), false});
    }
    // Launch counts of the last state, too.
    if (last && before.report && !std::exchange(before.passed_on_as_last, true))
      made.push_back({process.spool, visit_of(*before.report), true});
    const WatchClock::time_point now_is = WatchClock::now();
    const auto since = now_is - before.counted_at;
    if (before.counted_at == WatchClock::time_point{}) {
      before.counted_at = now_is;
      before.counted_launches = process.launches;
    } else if (since >= kRateInterval) {
      before.per_second = static_cast<double>(process.launches - before.counted_launches) /
                          std::chrono::duration<double>(since).count();
      before.counted_at = now_is;
      before.counted_launches = process.launches;
    }
    processes.push_back({.seen = std::move(process),
                         .launches_per_second = last ? -1 : before.per_second,
                         .findings = before.report ? before.report->findings.size() : 0});
  }
  if (standing)
    std::ranges::move(findings.take(spools.compared_ranks()), std::back_inserter(lines));
  const std::lock_guard lock(mutex);
  now.processes = std::move(processes);
  std::ranges::move(lines, std::back_inserter(now.findings));
  if (now.findings.size() > kMaxFindingLines)
    now.findings.erase(now.findings.begin(),
                       now.findings.end() - static_cast<std::ptrdiff_t>(kMaxFindingLines));
  std::ranges::move(made, std::back_inserter(visits));
  changed = true;
}

void AttachController::Watch::read_output(const std::string& file, bool ended) {
  const engine::Status bounded = bound_output(file, ended);
  std::vector<std::string> output = last_lines(file);
  if (!bounded.ok()) output.push_back("[expertscope: " + bounded.error().message + "]");
  const bool cut = output_is_cut(file);
  const std::lock_guard lock(mutex);
  now.output = std::move(output);
  now.cut_output = cut ? file : std::string();
}

engine::Result<std::unique_ptr<RunningProgram>> AttachController::Watch::started(
    AttachOptions options, const RemotePlace& place) {
  if (!place.worker.remote) {
    ENGINE_ASSIGN(AttachedProgram here, AttachedProgram::start(options));
    return std::unique_ptr<RunningProgram>(std::make_unique<AttachedProgram>(std::move(here)));
  }
  printed.reset(::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  options.output_file.clear();
  options.output_descriptor = options.errors_descriptor = printed.get();
  return start_on(place, {.program = options, .goes_on = true, .stop = [this] {
                            return asked(&Watch::leave) || asked(&Watch::give_up);
                          }});
}

engine::Status AttachController::Watch::follow(const AttachOptions& options,
                                               const RemotePlace& place, const ReportFacts& facts,
                                               HangOptions hang,
                                               const std::function<void()>& wake) {
  hang.give_up = [this] { return asked(&Watch::leave) || asked(&Watch::stop_watching); };
  {
    ENGINE_ASSIGN(std::unique_ptr<RunningProgram> runs, started(options, place));
    const std::lock_guard lock(mutex);
    program = std::move(runs);
    now.state = AttachStatus::State::Running;
    now.folder = options.folder;
    now.pid = program->pid();
    changed = true;
  }
  wake();
  SpoolFolder spools(options.folder, program->machine());
  bool unwatched = false;
  bool hung = false;
  std::optional<std::string> end;
  while (!(end = program_end())) {
    // The program goes on, and init waits for its end.
    if (asked(&Watch::leave)) return {};
    std::this_thread::sleep_for(kBetweenLooks);
    const bool stops = !unwatched && asked(&Watch::stop_watching);
    const WatchClock::time_point began = WatchClock::now();
    if (began < next_look && !stops) continue;
    // It prints on when nobody watches it.
    read_output(options.output_file, false);
    if (unwatched) {
      next_look = WatchClock::now() + kRateInterval;
      continue;
    }
    ENGINE_TRY(spools.follow(false));
    // Its report says so.
    const bool hangs = spools.watch_for_hangs(hang);
    // Once for each hang: ranks that do not hang go on.
    const bool hangs_now = hangs && !std::exchange(hung, true);
    hung = hung && hangs;
    look(spools, facts, stops, hangs_now);
    if (stops) {
      const std::lock_guard lock(mutex);
      now.state = AttachStatus::State::Unwatched;
    }
    unwatched = stops;
    wake();
    next_look = WatchClock::now() + pause_after_examining(WatchClock::now() - began);
  }
  if (!unwatched) {
    ENGINE_TRY(spools.follow(true));
    look(spools, facts, true, true);
  }
  read_output(options.output_file, true);
  const std::lock_guard lock(mutex);
  now.state = AttachStatus::State::Ended;
  now.ending = false;
  now.end = *end;
  changed = true;
  return {};
}

engine::Status AttachController::Watch::read(const std::string& folder, const ReportFacts& facts) {
  SpoolFolder spools(folder);
  ENGINE_TRY(spools.follow(true));
  if (spools.processes().empty()) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        fmt::format("{} holds no record of an attached program (*.spool)", folder)};
  }
  spools.recall_hangs();
  look(spools, facts, true, true);
  const std::string file = output_file_in(folder);
  const std::lock_guard lock(mutex);
  now.output = last_lines(file);
  if (output_is_cut(file)) now.cut_output = file;
  now.state = AttachStatus::State::Read;
  return {};
}

void remember(RememberedPrograms& programs, RememberedProgram newest) {
  std::erase(programs, newest);
  programs.insert(programs.begin(), std::move(newest));
  if (programs.size() > kMaxRememberedPrograms) programs.resize(kMaxRememberedPrograms);
}

AttachController::AttachController(std::function<void()> wake, engine::Result<std::string> library)
    : wake_(std::move(wake)), library_(std::move(library)), task_(wake_) {}

AttachController::~AttachController() {
  for (const std::weak_ptr<Watch>& one : watches_) {
    const std::shared_ptr<Watch> watch = one.lock();
    if (watch == nullptr) continue;
    const std::lock_guard lock(watch->mutex);
    watch->leave = true;
  }
}

engine::Status AttachController::refuse_second() const {
  if (!watching()) return {};
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("{} is being watched: stop watching it first", status_.command)};
}

void AttachController::begin(std::function<engine::Status(Watch&)> work, AttachStatus first) {
  status_ = first;
  watch_ = std::make_shared<Watch>();
  watch_->now = std::move(first);
  std::erase_if(watches_, [](const std::weak_ptr<Watch>& one) { return one.expired(); });
  watches_.push_back(watch_);
  // A former program that nobody watches keeps its thread, which waits for its end.
  task_.start([watch = watch_, work = std::move(work)] { return work(*watch); });
}

engine::Status AttachController::start(const AttachOrder& order, const RemotePlace& place) {
  ENGINE_TRY(refuse_second());
  const bool here = !place.worker.remote;
  if (here && !library_.ok()) return library_.error();
  AttachOptions options;
  ENGINE_ASSIGN(options.command, command_words(order.command));
  options.only = order.only;
  options.rank = order.rank;
  options.compare_memory = order.compare_memory;
  options.markers = order.markers;
  if (here) options.library = library_.value();
  options.working_folder = order.working_folder;
  const HangOptions hang{.after_seconds = order.hang_after, .core_dump = here && order.core_dump};
  begin(
      [options, place, hang, wake = wake_](Watch& watch) mutable -> engine::Status {
        ENGINE_ASSIGN(const ReportFacts facts, shipped_facts());
        ENGINE_ASSIGN(options.folder, new_spool_folder());
        options.output_file = output_file_in(options.folder);
        if (hang.core_dump) {
          ENGINE_ASSIGN(options.environment, attach_core_dumps(options.folder));
        }
        return watch.follow(options, place, facts, hang, wake);
      },
      {.state = AttachStatus::State::Running,
       .command = order.command,
       .host = place.worker.remote.value_or("")});
  return {};
}

engine::Status AttachController::read(const std::string& folder) {
  ENGINE_TRY(refuse_second());
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        folder.empty() ? "Type the folder of a record" : fmt::format("{} is not a folder", folder)};
  }
  begin(
      [folder](Watch& watch) -> engine::Status {
        ENGINE_ASSIGN(const ReportFacts facts, shipped_facts());
        return watch.read(folder, facts);
      },
      {.state = AttachStatus::State::Reading, .command = folder, .folder = folder});
  return {};
}

void AttachController::stop_watching() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(watch_->mutex);
  watch_->stop_watching = true;
}

void AttachController::end_program() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(watch_->mutex);
  watch_->give_up = watch_->program == nullptr;
  if (watch_->give_up) return;
  watch_->program->end(watch_->now.ending);
  watch_->now.ending = true;
  watch_->changed = true;
}

bool AttachController::tick() {
  if (watch_ == nullptr) return false;
  bool changed = false;
  const auto ended = task_.take();
  const std::lock_guard lock(watch_->mutex);
  if (ended && !ended->ok()) {
    watch_->now.error = ended->error().message;
    // The program, if there is one, goes on without being watched.
    const bool runs = watch_->program != nullptr && !watch_->program->ended();
    watch_->now.state = runs ? AttachStatus::State::Unwatched : AttachStatus::State::None;
    watch_->changed = true;
  }
  if (std::exchange(watch_->changed, false)) {
    status_ = watch_->now;
    std::ranges::move(watch_->visits, std::back_inserter(visits_));
    watch_->visits.clear();
    changed = true;
  }
  return changed;
}

}  // namespace app
