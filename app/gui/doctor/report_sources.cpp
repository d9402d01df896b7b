#include "app/gui/doctor/report_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "app/doctor/opened_report.h"

namespace app {
namespace {

constexpr const char* kOfTheRun = "run";

std::string key_of_visit(std::size_t number) { return fmt::format("visit {}", number); }

/// Of the step of the run on screen; nothing without one.
std::optional<std::size_t> visit_to_run(const SessionView& view) {
  if (view.run == nullptr) return std::nullopt;
  const auto own = std::ranges::find_if(view.visits, [&view](const auto& visit) {
    return examines_step_of(*visit, view.run->request);
  });
  if (own == view.visits.end()) return std::nullopt;
  return static_cast<std::size_t>(own - view.visits.begin());
}

/// What a session opens with: another subject's proved finding beside the run on screen would seem
/// to be the run's.
std::string default_key(const SessionView& view) {
  if (view.doctor.run_report != nullptr || view.doctor.examines_run) return kOfTheRun;
  if (view.visits.empty()) return {};
  return key_of_visit(visit_to_run(view).value_or(most_certain(view.visits)) + 1);
}

}  // namespace

void ReportSources::list(const SessionView& view) {
  all_.clear();
  const DoctorState& news = view.doctor;
  if (news.run_report != nullptr) {
    all_.push_back(
        {kOfTheRun, "graph of the run on screen", news.run_report, view.run,
         view.run == nullptr ? nullptr : GraphScene::Request(view.run, &view.run->request)});
  }
  for (std::size_t i = 0; i < view.visits.size(); ++i) {
    const auto& visit = view.visits[i];
    // The report lives as long as the visit it is part of.
    all_.push_back({key_of_visit(i + 1),
                    fmt::format("visit {}: {}", i + 1, visit->report.snapshot.subject),
                    GraphScene::Report(visit, &visit->report), nullptr,
                    GraphScene::Request(visit, examined_request(*visit))});
  }
  if (news.file_report != nullptr) {
    all_.push_back({"file", "file: " + news.file_report->snapshot.subject, news.file_report,
                    nullptr, nullptr});
  }
  if (news.recorded_case != nullptr) {
    const profiling::DoctorReport& report = news.recorded_case->report;
    all_.push_back(
        {"recorded",
         fmt::format("recorded on {}: {}", report.snapshot.device, report.snapshot.subject),
         GraphScene::Report(news.recorded_case, &report), nullptr, nullptr});
  }
  if (news.busy && news.so_far != nullptr) {
    all_.push_back({"now", "in progress: " + news.subject, news.so_far, nullptr, nullptr});
  }
}

void ReportSources::follow(const SessionView& view) {
  list(view);
  const DoctorState& news = view.doctor;
  const std::string path = view.path_on_screen();
  // The visits of a recording do not change: others under its path are of the same file, read anew.
  const bool read_anew = !path.empty() && view.visits != visits_;
  const bool another_session = std::exchange(session_path_, path) != path || read_anew;
  if (std::exchange(attached_, news.attached) != news.attached) awaits_process_ = true;
  if (another_session) {
    key_.clear();
    on_screen_ = nullptr;
    visits_ = view.visits;
  } else {
    follow_visits(view);
  }
  std::string first = default_key(view);
  const bool another_first = std::exchange(default_, std::move(first)) != default_;
  // A live run whose graph is examined anew is no reason to leave what the user reads.
  if (key_.empty() && (another_session || another_first) && !path.empty()) ++changes_;
  if (std::exchange(files_opened_, news.files_opened) != news.files_opened) put_on_screen("file");
  if (std::exchange(recorded_shown_, news.recorded_shown) != news.recorded_shown) {
    put_on_screen("recorded");
  }
  if (!std::exchange(busy_, news.busy && news.so_far != nullptr) && busy_) put_on_screen("now");
}

bool ReportSources::wanted(const profiling::RecordedVisit& visit) const {
  return awaits_process_ || !examines_attached(visit.report.snapshot);
}

void ReportSources::follow_visits(const SessionView& view) {
  if (view.visits == visits_) return;
  const auto place_of = [&view](const std::shared_ptr<const profiling::RecordedVisit>& former) {
    if (const auto same = std::ranges::find(view.visits, former); same != view.visits.end()) {
      return same;
    }
    // A process is named by its number: its newer state has the same subject.
    return std::ranges::find_if(view.visits, [&former](const auto& one) {
      const profiling::Snapshot& now = one->report.snapshot;
      return examines_attached(now) && now.subject == former->report.snapshot.subject;
    });
  };
  if (on_screen_ != nullptr) {
    const auto now = place_of(on_screen_);
    on_screen_ = now == view.visits.end() ? nullptr : *now;
    // Not put on screen anew: it is there.
    key_ = on_screen_ == nullptr
               ? std::string()
               : key_of_visit(static_cast<std::size_t>(now - view.visits.begin()) + 1);
  }
  std::set<const profiling::RecordedVisit*> known;
  for (const auto& former : visits_) {
    const auto now = place_of(former);
    if (now != view.visits.end()) known.insert(now->get());
  }
  // The processes of one program may come together.
  std::size_t newest = 0;
  bool found = false;
  for (std::size_t i = 0; i < view.visits.size(); ++i) {
    if (known.contains(view.visits[i].get()) || !wanted(*view.visits[i])) continue;
    const bool finds = !view.visits[i]->report.findings.empty();
    if (newest == 0 || finds || !found) newest = i + 1;
    found = found || finds;
  }
  visits_ = view.visits;
  if (newest == 0) return;
  awaits_process_ = awaits_process_ && !examines_attached(view.visits[newest - 1]->report.snapshot);
  put_on_screen(key_of_visit(newest));
}

void ReportSources::put_on_screen(std::string key) {
  key_ = std::move(key);
  on_screen_ = nullptr;
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    if (key_ == key_of_visit(i + 1)) on_screen_ = visits_[i];
  }
  ++changes_;
}

void ReportSources::prefer_visit(const SessionView& view) {
  const auto& run = view.doctor.run_report;
  if (!key_.empty() || view.visits.empty() || session_path_.empty()) return;
  if (view.run == nullptr || run == nullptr || !run->findings.empty()) return;
  put_on_screen(key_of_visit(visit_to_run(view).value_or(0) + 1));
}

const ReportSource* ReportSources::chosen() const {
  const int at = index();
  return at < 0 ? nullptr : &all_[static_cast<std::size_t>(at)];
}

int ReportSources::index() const {
  const auto place = [this](const std::string& key) {
    const auto found = std::ranges::find(all_, key, &ReportSource::key);
    return found == all_.end() ? -1 : static_cast<int>(found - all_.begin());
  };
  if (const int at = place(key_); at >= 0) return at;
  // The chosen one is gone, or there was none: a source that is there without a session, too.
  return default_.empty() && !all_.empty() ? 0 : place(default_);
}

void ReportSources::choose(int index) {
  const auto at = static_cast<std::size_t>(index);
  if (index >= 0 && at < all_.size()) put_on_screen(all_[at].key);
}

bool ReportSources::choose_about(const profiling::GallerySubject& subject) {
  const auto found = std::ranges::find_if(all_, [&subject](const ReportSource& one) {
    return one.report != nullptr &&
           profiling::gallery_subject(one.report->snapshot.subject) == subject;
  });
  if (found == all_.end()) return false;
  put_on_screen(found->key);
  return true;
}

}  // namespace app
