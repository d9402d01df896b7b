#include "app/controllers/files_controller.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "app/controllers/run_names.h"
#include "app/controllers/tour_script.h"
#include "app/doctor/report_document.h"
#include "app/protocol/paths.h"
#include "engine/model/moment.h"
#include "engine/model/path_text.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/replaced_file.h"
#include "profiling/hazards/report/report.h"

namespace app {
namespace {

namespace fs = std::filesystem;

using Written = WriteQueue::Outcome;
using Done = WriteQueue::Done;

Written refused(const char* what, engine::Error error) {
  error.message = what + error.message;
  return error;
}

/// Why a recording is not to be changed: it is not the user's own; empty = it is.
std::string foreign(const std::string& path) {
  std::error_code error;
  const fs::path assets = fs::weakly_canonical(assets_folder(), error);
  const fs::path file = fs::weakly_canonical(path, error);
  const auto [end, ignored] = std::ranges::mismatch(assets, file);
  if (end == assets.end()) return "ships with the program";
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid()) {
    return "belongs to another user";
  }
  return {};
}

/// Written as a separate file, completely or not at all.
engine::Status write_file(const std::string& path, const std::string& text) {
  auto file = profiling::ReplacedFile::create(path);
  if (!file.ok()) return file.error();
  file.value().write(text);
  return file.value().commit();
}

std::string with_suffix(const std::string& path, const char* suffix) {
  return path.ends_with(suffix) ? path : path + suffix;
}

/// As it is in the list of recent files.
std::string remembered_name(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

RecentFile checked_file(const std::string& path) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  return {path, error ? error.message() : there ? "" : "It is no longer there"};
}

}  // namespace

FileKind file_kind(const std::string& path) {
  const auto ends = [&](const char* suffix) { return path.ends_with(suffix); };
  if (ends(".session")) return FileKind::Recording;
  if (ends(".dot") || ends(".gv")) return FileKind::Graph;
  if (ends(".npy") || ends(".npz") || ends(".safetensors")) return FileKind::Tensor;
  return is_tour_file(path) ? FileKind::Tour : FileKind::Unknown;
}

FilesController::FilesController(const std::function<void()>& wake, RememberedFiles& remembered,
                                 Notices& notices)
    : wake_(wake),
      remembered_(remembered),
      notices_(notices),
      loader_(wake),
      second_loader_(wake),
      checker_(wake),
      writes_(wake),
      recording_path_(dated_path("expertscope", ".session")) {}

void FilesController::open_recording(const std::string& path) {
  loading_ = path;
  loader_.start([path] { return profiling::open_session(path); });
}

std::optional<engine::Result<profiling::Session>> FilesController::take_recording() {
  auto loaded = loader_.take();
  if (loaded && !loaded->ok()) forget_file(loading_);
  return loaded;
}

void FilesController::open_second(const std::string& path) {
  remember_folder_of(path);
  second_loader_.start([path] { return profiling::open_session(path); });
}

void FilesController::toggle_recording() {
  if (recorder_ != nullptr) {
    // What arrives from now on might miss the file.
    stopping_ = true;
    return recorder_->finish();
  }
  record_to(dated_path("expertscope", ".session"));
  notices_.set_status("Recording every further run into " + engine::shown_path(recording_path_));
}

void FilesController::record_to(const std::string& path) {
  recording_path_ = path;
  stopping_ = false;
  recorder_ = std::make_unique<Recorder>(path, wake_);
}

void FilesController::move_recording(const std::string& path) {
  if (recorder_ != nullptr) recorder_->move_to(with_suffix(path, ".session"));
}

void FilesController::record(Recorder::Record record) {
  if (recorder_ == nullptr || stopping_) return;
  recorder_->append(std::move(record));
}

std::size_t FilesController::unsaved(const SessionState& state) const {
  const std::shared_ptr<const void> by_itself = state.first_by_itself();
  const auto safe = [&](const std::shared_ptr<const void>& one) {
    return one == by_itself || in_files_.contains(one) ||
           (recorder_ != nullptr && recorder_->keeps(one));
  };
  std::size_t count = 0;
  profiling::for_each_kind(state.live_results(), [&]<class Recorded>(const auto& list) {
    count += list.size() - static_cast<std::size_t>(std::ranges::count_if(list, safe));
  });
  return count;
}

void FilesController::save_session(const SessionState& state, const std::string& path) {
  if (saver_ != nullptr) {
    notices_.add(Severity::Warn, "A session is still being saved to " +
                                     engine::shown_path(saver_->progress().path));
    return;
  }
  saver_ = std::make_unique<Recorder>(with_suffix(path, ".session"), wake_);
  profiling::for_each_kind(state.live_results(), [&]<class Recorded>(const auto& list) {
    for (const std::shared_ptr<const Recorded>& one : list) {
      saver_->append(one);
    }
  });
  for (const SessionState::Run& run : state.live_results().runs) {
    saver_->set_notes(run, state.notes_of(run));
    saver_->set_name(run, state.names.of(run));
  }
  saver_->finish();
}

void FilesController::save_notes(const SessionState& state,
                                 const std::vector<profiling::TimeNote>& notes) {
  if (!state.from_file()) {
    if (recorder_ != nullptr) recorder_->set_notes(state.shown(), notes);
    return notices_.set_status("The notes belong to the run: Save or Record writes them");
  }
  writes_.put([path = state.session_path(), index = state.recorded_index(), notes]() -> Written {
    if (const std::string whose = foreign(path); !whose.empty()) {
      return Done{"The notes stay in this window: " + engine::shown_path(path) + " " + whose, true};
    }
    const engine::Status status = profiling::store_time_notes(path, index, notes);
    if (!status.ok()) return refused("Notes not saved: ", status.error());
    return Done{"Notes saved in " + engine::shown_path(path), true};
  });
}

void FilesController::save_name(const SessionState& state, const std::string& name) {
  if (!state.from_file()) {
    if (recorder_ != nullptr) recorder_->set_name(state.shown(), name);
    return notices_.set_status("The name belongs to the run: Save or Record writes it");
  }
  writes_.put([path = state.session_path(), index = state.recorded_index(), name]() -> Written {
    if (const std::string whose = foreign(path); !whose.empty()) {
      return Done{"The name stays in this window: " + engine::shown_path(path) + " " + whose, true};
    }
    const engine::Status status = profiling::store_run_name(path, index, name);
    if (!status.ok()) return refused("Name not saved: ", status.error());
    return Done{"Name saved in " + engine::shown_path(path), true};
  });
}

void FilesController::save_text(const std::string& path, const std::string& text,
                                const std::string& done) {
  writes_.put([path, text, done]() -> Written {
    const engine::Status status = write_file(path, text);
    if (!status.ok()) return refused("Not saved: ", status.error());
    return Done{done};
  });
}

void FilesController::save_table(const CsvOrder& order) {
  const std::string path = dated_path(order.stem, ".csv");
  save_text(path, order.text, "Table saved: " + engine::shown_path(path));
}

void FilesController::save_report(DoctorState::Report report, const std::string& path) {
  const bool json = path.ends_with(".json");
  writes_.put([report = std::move(report), json,
               path = json ? path : with_suffix(path, ".md")]() -> Written {
    const engine::Status status =
        write_file(path, json ? profiling::to_json(*report) : report_markdown(*report));
    if (!status.ok()) return refused("Not written: ", status.error());
    return Done{"Report written: " + engine::shown_path(path)};
  });
}

void FilesController::save_records(const SessionState::Run& run, const RecordsOrder& order,
                                   const std::string& path) {
  if (run == nullptr) return;
  writes_.put([path = with_suffix(path, order.csv ? ".csv" : ".json"), run, order]() -> Written {
    profiling::Session session;
    session.runs.push_back(*run);
    profiling::TraceChoice choice{.run = 0};
    if (order.range) choice.range = *order.range;
    const engine::Status status = order.csv ? profiling::export_records_csv(session, path, choice)
                                            : profiling::export_chrome_trace(session, path, choice);
    if (!status.ok()) return refused("Not exported: ", status.error());
    return Done{"Exported: " + engine::shown_path(path)};
  });
}

void FilesController::save_page(const SessionState& state, const std::string& path, bool with_paths,
                                std::optional<PageComparison> compared) {
  const std::string title =
      "Expertscope: " + (state.from_file() ? fs::path(state.session_path()).filename().string()
                                           : std::string("runs of a window"));
  writes_.put([path = with_suffix(path, ".html"), results = state.results(), names = state.names,
               doubt = state.file_doubt(), title, with_paths,
               compared = std::move(compared)]() -> Written {
    PageContent content = page_content(
        results,
        [&names](const SessionState::Run& run) -> std::string_view { return names.of(run); });
    content.doubt = doubt;
    content.compared = compared;
    const engine::Status status = write_file(path, recording_page(content, title, with_paths));
    if (!status.ok()) return refused("Not exported: ", status.error());
    return Done{"Exported: " + engine::shown_path(path)};
  });
}

void FilesController::forget_file(const std::string& path) {
  std::erase(remembered_.recent, remembered_name(path));
}

void FilesController::remember_file(const std::string& path) {
  const std::string name = remembered_name(path);
  std::vector<std::string>& recent = remembered_.recent;
  std::erase(recent, name);
  recent.insert(recent.begin(), name);
  if (recent.size() > kMaxRecentFiles) recent.resize(kMaxRecentFiles);
}

void FilesController::remember_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (!error) remembered_.folder = folder.string();
}

void FilesController::remember_folder_of(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) remember_folder(path);
}

void FilesController::check_recent() {
  checker_.start([paths = remembered_.recent] {
    std::vector<RecentFile> files;
    for (const std::string& path : paths) files.push_back(checked_file(path));
    return files;
  });
}

std::vector<RecentFile> FilesController::recent() const {
  std::vector<RecentFile> files;
  for (const std::string& path : remembered_.recent) {
    const auto found = std::ranges::find(checked_, path, &RecentFile::path);
    files.push_back({path, found == checked_.end() ? "" : found->missing});
  }
  return files;
}

std::string FilesController::dated_path(const std::string& stem, const char* suffix) const {
  std::error_code error;
  // The program's own files are opened like others, but nothing is written beside them.
  const bool own = (remembered_.folder + "/").starts_with(assets_folder() + "/");
  const fs::path folder =
      remembered_.folder.empty() || own ? fs::current_path(error) : fs::path(remembered_.folder);
  const std::string name =
      fmt::format("{}-{}", stem, engine::local_time(std::time(nullptr), "%Y%m%d-%H%M%S"));
  fs::path path = folder / (name + suffix);
  // Two in one second: files are never written over.
  for (int i = 2; fs::exists(path, error); ++i) {
    path = folder / fmt::format("{}-{}{}", name, i, suffix);
  }
  return path.string();
}

bool FilesController::take_outcomes() {
  bool changed = false;
  for (const std::string& failure : BackgroundFailures::take()) {
    notices_.add(Severity::Bad, "Part of the window could not be computed: " + failure);
    changed = true;
  }
  while (const auto outcome = writes_.take()) {
    changed = true;
    if (!outcome->ok()) {
      notices_.add(Severity::Bad, outcome->error().message);
    } else if (outcome->value().small) {
      notices_.set_status(outcome->value().text);
    } else {
      notices_.add(Severity::Good, outcome->value().text);
    }
  }
  return changed;
}

/// True if it reported something or has ended.
bool FilesController::collect(std::unique_ptr<Recorder>& recorder, const char* done,
                              const char* failed) {
  if (recorder == nullptr) return false;
  const Recorder::Progress progress = recorder->progress();
  const std::vector<std::string> notices = recorder->take_notices();
  for (const std::string& notice : notices) notices_.add(Severity::Warn, notice);
  if (!progress.finished) return !notices.empty();
  in_files_.merge(recorder->take_written());
  std::erase_if(in_files_, [](const auto& result) { return result.expired(); });
  if (&recorder == &saver_) save_failed_ = !progress.error.empty();
  bool nothing = true;
  profiling::for_each_kind(progress.written, [&nothing]<class Recorded>(std::size_t count) {
    nothing = nothing && count == 0;
  });
  if (progress.error.empty() && nothing) {
    notices_.add(Severity::Warn, "Nothing was recorded: no file is kept");
  } else if (progress.error.empty()) {
    remember_file(progress.path);
    notices_.add(Severity::Good, fmt::format("{} {} {}", written_words(progress.written), done,
                                             engine::shown_path(progress.path)));
  } else {
    notices_.add(Severity::Bad, failed + progress.error +
                                    (progress.waiting > 0 ? ". Save writes what the window holds "
                                                            "to another place"
                                                          : ""));
  }
  recorder.reset();
  return true;
}

bool FilesController::tick() {
  // Not short-circuited: each of them must run.
  bool changed = take_outcomes();
  changed = collect(recorder_, "recorded in", "The recording ended: ") || changed;
  changed = collect(saver_, "saved in", "Not saved: ") || changed;
  if (auto checked = checker_.take()) {
    checked_ = std::move(*checked);
    changed = true;
  }
  Recorder::Progress now = recorder_ == nullptr ? Recorder::Progress{} : recorder_->progress();
  changed = changed || now.written.runs != progress_.written.runs ||
            now.waiting != progress_.waiting || now.error != progress_.error;
  if (recorder_ != nullptr) recording_path_ = now.path;
  progress_ = std::move(now);
  return changed;
}

}  // namespace app
