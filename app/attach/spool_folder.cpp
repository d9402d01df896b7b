#include "app/attach/spool_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "app/attach/kept_hang.h"
#include "app/attach/rank_comparison.h"
#include "app/doctor/core_dump.h"
#include "app/doctor/opened_report.h"
#include "app/doctor/report_words.h"
#include "engine/model/counted.h"

namespace app {
namespace {

namespace fs = std::filesystem;

void add_hang(profiling::DoctorReport& report, const profiling::ExperimentRecord& record) {
  const std::string rules = report.conclusion;
  report.experiments.push_back(record);
  report.conclusion =
      fmt::format("{} {}", hang_sentence(report.snapshot, record.outcome.stall.front()), rules);
}

}  // namespace

engine::Status SpoolFolder::follow(bool ended) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".spool") spools_.try_emplace(entry.path().string());
  }
  if (error) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{} cannot be read: {}", folder_, error.message())};
  }
  for (auto& [path, spool] : spools_) {
    if (spool.reader == nullptr) {
      engine::Result<profiling::SpoolReader> opened = profiling::SpoolReader::open(path);
      if (!opened.ok()) {
        // The process may be about to write its header.
        spool.unreadable = opened.error().message;
        continue;
      }
      spool.unreadable.clear();
      spool.reader = std::make_unique<profiling::SpoolReader>(std::move(opened).value());
    }
    const auto until =
        ended ? profiling::SpoolReader::Until::End : profiling::SpoolReader::Until::Incomplete;
    const engine::Status read =
        spool.reader->follow(until, [&](const profiling::SpoolFrame& frame) {
          spool.process.take(frame);
          ++spool.revision;
        });
    if (!read.ok()) spool.unreadable = fmt::format("{} {}", path, read.error().message);
    spool.process.take(spool.reader->state());
    // A launch writes no frame.
    if (std::exchange(spool.launches, spool.process.launches()) != spool.process.launches())
      ++spool.revision;
  }
  return {};
}

bool SpoolFolder::watch_for_hangs(const HangOptions& options) {
  bool any = false;
  bool pending = false;
  for (auto& [path, spool] : spools_) {
    if (spool.reader == nullptr) continue;
    const profiling::SpoolState& state = spool.reader->state();
    const std::uint64_t now = machine_.now();
    const std::optional<profiling::OpenWait> wait = hanging_wait(state, now, options);
    const bool same = wait && spool.hang && wait->since == spool.hang->since;
    if (wait.has_value() != spool.hang.has_value() || (wait && !same)) ++spool.revision;
    if (wait && !same) {
      spool.device = {.words = machine_.device(spool.process.pci_bus_id()),
                      .may_be_dumped = machine_.takes_core_dumps && !options.core_dump};
      // One for each process: the driver is triggered once.
      spool.dump_wanted = options.core_dump && !spool.dump_taken;
      spool.hang_found = now;
      keep_hang(path, {wait->since, now, hang_deadline(state, options), spool.device});
    } else if (wait && std::exchange(spool.dump_wanted, false)) {
      take_dump(spool, options);
      keep_hang(path, {wait->since, spool.hang_found, hang_deadline(state, options), spool.device});
      ++spool.revision;
    }
    // It copies the ledger, and this looks ten times a second.
    constexpr std::uint64_t kMostAge = 1'000'000'000;  // ns
    if (wait && (!spool.hang || spool.hang_revision != spool.revision ||
                 now >= spool.hang_recorded + kMostAge)) {
      spool.hang_record = hang_record(spool.process, state, spool.process.snapshot(), *wait, now,
                                      hang_deadline(state, options), spool.device);
      spool.hang_revision = spool.revision;
      spool.hang_recorded = now;
    }
    spool.hang = wait;
    any = any || wait.has_value();
    pending = pending || (wait && spool.dump_wanted);
  }
  return any && !pending;
}

void SpoolFolder::recall_hangs() {
  for (auto& [path, spool] : spools_) {
    const std::optional<KeptHang> kept = kept_hang(path);
    if (spool.reader == nullptr || !kept) continue;
    const profiling::SpoolState& state = spool.reader->state();
    // A wait that ended afterwards was slow, and is no hang.
    const auto wait = std::ranges::find(state.waits, kept->since, &profiling::OpenWait::since);
    if (wait == state.waits.end()) continue;
    spool.hang = *wait;
    spool.hang_record = hang_record(spool.process, state, spool.process.snapshot(), *wait,
                                    kept->found, kept->deadline_seconds, kept->device);
    ++spool.revision;
  }
}

void SpoolFolder::take_dump(Spool& spool, const HangOptions& options) const {
  const profiling::CoreDumpFiles files =
      core_dump_files(core_dump_name(folder_, spool.process.process()));
  spool.dump_taken = true;
  HangingDevice& device = spool.device;
  const auto process = static_cast<pid_t>(spool.process.process());
  device.dump = profiling::take_core_dump(files, profiling::kCoreDumpSeconds,
                                          {.give_up = options.give_up, .writer_ends = [process] {
                                             return ::kill(process, 0) != 0 && errno == ESRCH;
                                           }});
  // Who reads the folder later should not wait at a pipe that nobody writes.
  ::unlink(files.pipe.c_str());
  if (!device.dump.path.empty()) device.place = read_core_dump(device.dump.path, options.give_up);
}

std::string comparisons_text(const AttachedProcess& process) {
  if (process.compared == 0 && process.not_compared.empty()) return "";
  return fmt::format("memory compared before and after {}{}{}",
                     engine::counted(process.compared, "replay"),
                     process.not_compared.empty() ? "" : "; ", process.not_compared);
}

std::vector<AttachedProcess> SpoolFolder::processes() const {
  std::vector<AttachedProcess> processes;
  for (const auto& [path, spool] : spools_) {
    const std::uint64_t damaged = spool.reader == nullptr ? 0 : spool.reader->damaged_frames();
    processes.push_back({.spool = path,
                         .revision = spool.revision,
                         .title = spool.reader == nullptr ? fs::path(path).filename().string()
                                                          : spool.process.title(),
                         .graphs = spool.process.graphs_seen(),
                         .marked = spool.process.graphs_marked(),
                         .launches = spool.process.launches(),
                         .lost_frames = spool.process.lost_frames() + damaged,
                         .compared = spool.process.compared(),
                         .not_compared = spool.process.not_compared(),
                         .hangs = spool.hang.has_value(),
                         .unreadable = spool.unreadable});
  }
  return processes;
}

std::uint64_t SpoolFolder::revision() const {
  std::uint64_t sum = 0;
  for (const auto& [path, spool] : spools_) sum += spool.revision;
  return sum;
}

std::vector<std::string> SpoolFolder::compared_ranks() const {
  // Children inherit the variable RANK, and may use CUDA themselves.
  const auto is_child = [&](const Spool& one) {
    return std::ranges::any_of(spools_, [&](const auto& other) {
      return other.second.reader != nullptr && other.second.process.rank() == one.process.rank() &&
             other.second.process.process() == one.reader->state().parent;
    });
  };
  std::map<int, const Spool*> newest;
  for (const auto& [path, spool] : spools_) {
    if (spool.reader == nullptr || spool.process.rank() < 0 || is_child(spool)) continue;
    const Spool*& of_rank = newest[spool.process.rank()];
    if (of_rank == nullptr || of_rank->reader->state().started < spool.reader->state().started)
      of_rank = &spool;
  }
  std::vector<RankGraphs> ranks;
  for (const auto& [rank, spool] : newest) {
    ranks.push_back({.rank = rank,
                     .instantiated = spool->process.graphs_seen(),
                     .graphs = spool->process.snapshot().graphs});
  }
  return compare_ranks(ranks);
}

std::optional<profiling::DoctorReport> SpoolFolder::report_of(
    const Spool& spool, const std::vector<profiling::LibraryFact>& facts) {
  if (spool.reader == nullptr) return std::nullopt;
  profiling::Snapshot snapshot = spool.process.snapshot();
  if (snapshot.graphs.empty() && !spool.hang) return std::nullopt;
  profiling::DoctorReport report = report_by_rules(std::move(snapshot), facts);
  if (spool.hang) add_hang(report, spool.hang_record);
  return report;
}

std::optional<profiling::DoctorReport> SpoolFolder::report(
    const std::string& spool, const std::vector<profiling::LibraryFact>& facts) const {
  const auto found = spools_.find(spool);
  return found == spools_.end() ? std::nullopt : report_of(found->second, facts);
}

std::vector<profiling::DoctorReport> SpoolFolder::reports(
    const std::vector<profiling::LibraryFact>& facts) const {
  std::vector<const Spool*> in_order;
  for (const auto& [path, spool] : spools_) {
    if (spool.reader != nullptr) in_order.push_back(&spool);
  }
  std::ranges::stable_sort(in_order, {},
                           [](const Spool* spool) { return spool->reader->state().started; });
  std::vector<profiling::DoctorReport> reports;
  for (const Spool* spool : in_order) {
    if (auto report = report_of(*spool, facts)) reports.push_back(*std::move(report));
  }
  return reports;
}

}  // namespace app
