// Files: what is opened, dropped, saved and remembered. Everything is read and written on other
// threads.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "app/gui/shell/shell.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/replaced_file.h"

namespace app {
namespace {

namespace fs = std::filesystem;

enum class FileKind { Recording, Graph, Tensor, Tour, Unknown };

FileKind kind_of(const std::string& path) {
  const auto ends = [&](const char* suffix) { return path.ends_with(suffix); };
  if (ends(".session")) return FileKind::Recording;
  if (ends(".dot") || ends(".gv")) return FileKind::Graph;
  if (ends(".npy") || ends(".safetensors")) return FileKind::Tensor;
  if (is_tour_file(path)) return FileKind::Tour;
  return FileKind::Unknown;
}

engine::Error refused(const char* what, engine::Error error) {
  error.message = what + error.message;
  return error;
}

}  // namespace

WriteQueue::Outcome write_text(const std::string& path, const std::string& text,
                               const std::string& done) {
  auto file = profiling::ReplacedFile::create(path);
  if (!file.ok()) return refused("Not saved: ", file.error());
  file.value().write(text);
  if (engine::Status status = file.value().commit(); !status.ok()) {
    return refused("Not saved: ", status.error());
  }
  return done;
}

void Shell::open_file(const std::string& path) {
  switch (kind_of(path)) {
    case FileKind::Recording:
      open_recording(path);
      break;
    case FileKind::Graph:
      open_graph(path);
      break;
    case FileKind::Tensor:
      open_tensor(path);
      break;
    case FileKind::Tour:
      open_tour(path);
      break;
    case FileKind::Unknown:
      notices_.add(Severity::Warn,
                   path +
                       " cannot be used: known are recordings (.session), captured graphs "
                       "(.dot, .gv), tensors (.npy, .safetensors), tours (.json) and request "
                       "logs (.jsonl). Of a folder drop the files one by one");
      return;
  }
  remember_file(settings_.recent, path);
}

void Shell::open_tensor(const std::string& path) {
  remember_folder(path);
  const engine::RunRequest before = state_.requested;
  rail_.path_chosen(FilePurpose::Activations, path, state_.requested);
  history_.changed(before, state_.requested, 0);
  says_ = fs::path(path).filename().string() + " gives the values of X; W and dY under Input, Step";
  if (state_.live && state_.requested != before) submit();
}

void Shell::open_graph(const std::string& path) {
  doctor_.open(path);
  state_.workspace = Workspace::Graphs;
}

void Shell::open_recording(const std::string& path) {
  remember_folder(path);
  loader_.start([path] { return profiling::open_session(path, request_codec()); });
}

void Shell::open_sample() {
  const std::string folder = assets_folder() + "/sessions";
  const FolderListing listing = list_folder(folder, {".session"});
  const auto first = std::find_if(listing.entries.begin(), listing.entries.end(),
                                  [](const FolderEntry& entry) { return !entry.folder; });
  if (first == listing.entries.end()) {
    notices_.add(Severity::Warn, "No recording lies in " + folder);
    return;
  }
  const std::string path = folder + "/" + first->name;
  loader_.start([path] { return profiling::open_session(path, request_codec()); });
}

void Shell::toggle_recording() {
  if (recorder_ != nullptr) {
    recorder_->finish();
    return;
  }
  recording_path_ = dated_path("expertscope", ".session");
  recorder_ = std::make_unique<Recorder>(recording_path_, wake_);
}

void Shell::ask_record_elsewhere() {
  const fs::path path(dated_path("expertscope", ".session"));
  files_.open(FilePurpose::RecordElsewhere, settings_.folder, path.filename().string());
}

void Shell::save_session(const std::string& path) {
  if (saver_ != nullptr) {
    notices_.add(Severity::Warn, "A session is still being saved to " + saver_->progress().path);
    return;
  }
  saver_ = std::make_unique<Recorder>(path, wake_);
  for (const SessionState::Run& run : state_.live_runs()) {
    saver_->append(run);
    saver_->set_notes(run, state_.notes_of(run));
  }
  for (const SessionState::Comparison& one : state_.live_comparisons()) saver_->append(one);
  for (const SessionState::History& one : state_.live_histories()) saver_->append(one);
  for (const SessionState::Visit& one : state_.live_visits()) saver_->append(one);
  saver_->finish();
}

void Shell::take_choice(const FileDialog::Choice& choice) {
  remember_folder(choice.path);
  switch (choice.purpose) {
    case FilePurpose::OpenSecond:
      open_second(choice.path);
      return;
    case FilePurpose::OpenRecording:
      open_file(choice.path);
      return;
    case FilePurpose::SaveSession:
      save_session(choice.path.ends_with(".session") ? choice.path : choice.path + ".session");
      return;
    case FilePurpose::RecordElsewhere:
      if (recorder_ != nullptr) {
        recorder_->move_to(choice.path.ends_with(".session") ? choice.path
                                                             : choice.path + ".session");
      }
      return;
    case FilePurpose::OpenGraph:
      open_graph(choice.path);
      remember_file(settings_.recent, choice.path);
      return;
    case FilePurpose::ExportReport:
      export_report(choice.path);
      return;
    case FilePurpose::ExportTrace:
    case FilePurpose::ExportRecords:
      export_records(choice.path);
      return;
    case FilePurpose::Activations:
    case FilePurpose::Weights:
    case FilePurpose::Gradients:
    case FilePurpose::Routing:
      rail_.path_chosen(choice.purpose, choice.path, state_.requested);
      return;
  }
}

void Shell::keep_notes(const std::vector<profiling::TimeNote>& notes) {
  const SessionState::Run run = state_.shown();
  if (run == nullptr) return;
  state_.set_notes(run, notes);
  if (!state_.from_file()) {
    if (recorder_ != nullptr) recorder_->set_notes(run, notes);
    says_ = "Notes are kept with the run: Save or Record writes them";
    return;
  }
  writes_.put(
      [path = state_.session_path(), index = state_.run_index(), notes]() -> WriteQueue::Outcome {
        const engine::Status status = profiling::store_time_notes(path, index, notes);
        if (!status.ok()) return refused("Notes not kept: ", status.error());
        return "Notes kept in " + path;
      });
}

void Shell::save_csv(const CsvOrder& order) {
  const std::string path = dated_path(order.stem.c_str(), ".csv");
  writes_.put([path, text = order.text] { return write_text(path, text, "Table saved: " + path); });
}

void Shell::ask_export(const RecordsOrder& order) {
  run_to_export_ = state_.shown();
  export_order_ = order;
  const std::string path =
      dated_path(order.csv ? "records" : "trace", order.csv ? ".csv" : ".json");
  files_.open(order.csv ? FilePurpose::ExportRecords : FilePurpose::ExportTrace, settings_.folder,
              fs::path(path).filename().string());
}

void Shell::export_records(const std::string& chosen) {
  if (run_to_export_ == nullptr) return;
  const char* suffix = export_order_.csv ? ".csv" : ".json";
  const std::string path = chosen.ends_with(suffix) ? chosen : chosen + suffix;
  writes_.put([path, run = std::exchange(run_to_export_, nullptr),
               order = export_order_]() -> WriteQueue::Outcome {
    profiling::Session session;
    session.runs.push_back(*run);
    profiling::TraceChoice choice{.run = 0};
    if (order.range) choice.range = *order.range;
    const engine::Status status = order.csv ? profiling::export_records_csv(session, path, choice)
                                            : profiling::export_chrome_trace(session, path, choice);
    if (!status.ok()) return refused("Not exported: ", status.error());
    return "Exported: " + path;
  });
}

std::vector<RecentFile> Shell::recent_files() const {
  std::vector<RecentFile> files;
  for (const std::string& path : settings_.recent) files.push_back({path, recent_.missing(path)});
  return files;
}

std::string Shell::dated_path(const char* stem, const char* suffix) const {
  std::error_code error;
  const fs::path folder =
      settings_.folder.empty() ? fs::current_path(error) : fs::path(settings_.folder);
  const std::string name =
      fmt::format("{}-{:%Y%m%d-%H%M%S}", stem, fmt::localtime(std::time(nullptr)));
  fs::path path = folder / (name + suffix);
  // Two in one second: files are never written over.
  for (int i = 2; fs::exists(path, error); ++i)
    path = folder / fmt::format("{}-{}{}", name, i, suffix);
  return path.string();
}

void Shell::remember_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (!error) settings_.folder = folder.string();
}

}  // namespace app
