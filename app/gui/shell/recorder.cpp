// The queue holds shared pointers to immutable runs, so handing one over costs nothing.
#include "app/gui/shell/recorder.h"

#include <algorithm>
#include <utility>

#include "app/protocol/request_json.h"

namespace app {

Recorder::Recorder(std::string path, std::function<void()> wake)
    : path_(std::move(path)), wake_(std::move(wake)), thread_([this] { write_all(); }) {}

Recorder::~Recorder() {
  finish();
  thread_.join();
}

void Recorder::append(Run run) { put(std::move(run)); }
void Recorder::append(Comparison comparison) { put(std::move(comparison)); }
void Recorder::append(History history) { put(std::move(history)); }
void Recorder::append(Visit visit) { put(std::move(visit)); }

void Recorder::set_notes(Run run, std::vector<profiling::TimeNote> notes) {
  put(NotesOf{std::move(run), std::move(notes)});
}

void Recorder::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(entry));
  changed_.notify_one();
}

void Recorder::finish() {
  const std::lock_guard lock(mutex_);
  finishing_ = true;
  changed_.notify_one();
}

Recorder::Progress Recorder::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Recorder::publish(const Progress& progress) {
  {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  wake_();
}

/// `runs`: those written so far, as the file counts them.
engine::Status Recorder::write(profiling::SessionWriter& writer, const Entry& entry,
                               std::vector<Run>& runs) {
  if (const auto* notes = std::get_if<NotesOf>(&entry)) {
    const auto found = std::find(runs.begin(), runs.end(), notes->run);
    // Finished before the recording began: it is not in this file.
    if (found == runs.end()) return {};
    return writer.set_time_notes(static_cast<std::size_t>(found - runs.begin()), notes->notes);
  }
  if (const auto* comparison = std::get_if<Comparison>(&entry)) return writer.append(**comparison);
  if (const auto* history = std::get_if<History>(&entry)) return writer.append(**history);
  if (const auto* visit = std::get_if<Visit>(&entry)) return writer.append(**visit);
  const Run& run = std::get<Run>(entry);
  engine::Status status = writer.append(*run);
  if (status.ok()) runs.push_back(run);
  return status;
}

void Recorder::write_all() {
  Progress progress;
  auto created = profiling::SessionWriter::create(path_, request_codec());
  if (!created.ok()) {
    progress.error = created.error().message;
    progress.finished = true;
    publish(progress);
    return;
  }
  std::unique_ptr<profiling::SessionWriter> writer = std::move(created).value();
  std::vector<Run> runs;
  while (true) {
    Entry entry;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return finishing_ || !waiting_.empty(); });
      if (waiting_.empty()) break;
      entry = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const engine::Status status = write(*writer, entry, runs);
    if (!status.ok()) {
      progress.error = status.error().message;
      break;
    }
    if (std::holds_alternative<NotesOf>(entry)) continue;
    ++(std::holds_alternative<Run>(entry)          ? progress.written
       : std::holds_alternative<Comparison>(entry) ? progress.comparisons
       : std::holds_alternative<History>(entry)    ? progress.histories
                                                   : progress.visits);
    publish(progress);
  }
  writer.reset();
  progress.finished = true;
  publish(progress);
}

}  // namespace app
