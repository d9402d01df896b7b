#include "app/attach/spool_folder.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/doctor/opened_report.h"

namespace app {
namespace {

namespace fs = std::filesystem;

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
          ++revision_;
        });
    if (!read.ok()) spool.unreadable = fmt::format("{} {}", path, read.error().message);
    spool.process.take(spool.reader->state());
    // A launch writes no frame.
    if (std::exchange(spool.launches, spool.process.launches()) != spool.process.launches())
      ++revision_;
  }
  return {};
}

std::vector<AttachedProcess> SpoolFolder::processes() const {
  std::vector<AttachedProcess> processes;
  for (const auto& [path, spool] : spools_) {
    const std::uint64_t damaged = spool.reader == nullptr ? 0 : spool.reader->damaged_frames();
    processes.push_back({.title = spool.reader == nullptr ? fs::path(path).filename().string()
                                                          : spool.process.title(),
                         .graphs = spool.process.graphs_seen(),
                         .launches = spool.process.launches(),
                         .lost_frames = spool.process.lost_frames() + damaged,
                         .unreadable = spool.unreadable});
  }
  return processes;
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
    profiling::Snapshot snapshot = spool->process.snapshot();
    if (!snapshot.graphs.empty()) reports.push_back(report_by_rules(std::move(snapshot), facts));
  }
  return reports;
}

}  // namespace app
