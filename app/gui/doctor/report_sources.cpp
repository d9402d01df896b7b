#include "app/gui/doctor/report_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace app {
namespace {

/// Null for a gallery case, whose visit has no request.
GraphScene::Request request_of(const std::shared_ptr<const profiling::RecordedVisit>& visit) {
  if (visit->request == engine::RunRequest()) return nullptr;
  return {visit, &visit->request};
}

}  // namespace

void ReportSources::follow(const SessionView& view) {
  all_.clear();
  const DoctorState& news = view.doctor;
  if (news.run_report != nullptr) {
    all_.push_back(
        {"run", "graph of the run on screen", news.run_report, view.run,
         view.run == nullptr ? nullptr : GraphScene::Request(view.run, &view.run->request)});
  }
  for (std::size_t i = 0; i < view.visits.size(); ++i) {
    const auto& visit = view.visits[i];
    // The report lives as long as the visit it is part of.
    all_.push_back({fmt::format("visit {}", i + 1),
                    fmt::format("visit {}: {}", i + 1, visit->report.snapshot.subject),
                    GraphScene::Report(visit, &visit->report), nullptr, request_of(visit)});
  }
  if (news.file_report != nullptr) {
    all_.push_back({"file", "file: " + news.file_report->snapshot.subject, news.file_report,
                    nullptr, nullptr});
  }
  if (news.busy && news.so_far != nullptr) {
    all_.push_back({"now", "in progress: " + news.subject, news.so_far, nullptr, nullptr});
  }
  const bool another_session = std::exchange(session_path_, view.session_path) != view.session_path;
  const std::size_t visits = std::exchange(visits_, view.visits.size());
  if (view.visits.size() > visits && !another_session) {
    key_ = fmt::format("visit {}", view.visits.size());
  } else if (another_session && news.run_report == nullptr && !view.visits.empty()) {
    key_ = "visit 1";
  }
  if (std::exchange(files_opened_, news.files_opened) != news.files_opened) key_ = "file";
  if (!std::exchange(busy_, news.busy && news.so_far != nullptr) && busy_) key_ = "now";
}

const ReportSource* ReportSources::chosen() const {
  const int at = index();
  return at < 0 ? nullptr : &all_[static_cast<std::size_t>(at)];
}

int ReportSources::index() const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [this](const ReportSource& one) { return one.key == key_; });
  if (found != all_.end()) return static_cast<int>(found - all_.begin());
  return all_.empty() ? -1 : 0;
}

void ReportSources::choose(int index) {
  const auto at = static_cast<std::size_t>(index);
  if (index >= 0 && at < all_.size()) key_ = all_[at].key;
}

}  // namespace app
