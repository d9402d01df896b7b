// The queue holds shared pointers to immutable runs, so handing one over costs nothing. An entry
// leaves it only when it is in the file: whatever goes wrong, the rest still waits.
#include "app/controllers/recorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <type_traits>
#include <utility>

namespace app {
namespace {

// How often an idle recorder checks that its file still has its name, and a blocked one retries.
constexpr std::chrono::seconds kCheckInterval{2};
// How much may wait for a full disk; a run can have a hundred megabytes.
constexpr std::size_t kMaxWaiting = 256;

template <class>
using Noun = std::array<const char*, 2>;
constexpr profiling::Records<Noun> kNouns = {
    .runs = {"run", "runs"},
    .comparisons = {"comparison", "comparisons"},
    .visits = {"visit to the doctor", "visits to the doctor"}};

}  // namespace

std::string written_words(const profiling::Records<profiling::CountOf>& written) {
  std::vector<std::string> words;
  profiling::for_each_kind(written, [&]<class Recorded>(std::size_t count) {
    if (count == 0 && !std::is_same_v<Recorded, profiling::RecordedRun>) return;
    const auto& [one, many] = profiling::of_kind<Recorded>(kNouns);
    words.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
  });
  return fmt::format("{}", fmt::join(words, ", "));
}

Recorder::Recorder(std::string path, std::function<void()> wake)
    : path_(std::move(path)), wake_(std::move(wake)) {
  progress_.path = path_;
  thread_ = engine::GuardedThread([this] { write_all(); },
                                  [this](const engine::Error& error) { end(error.message); });
}

Recorder::~Recorder() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  finish();
  thread_.join();
}

void Recorder::append(Record record) { put(std::move(record)); }

void Recorder::set_notes(Run run, std::vector<profiling::TimeNote> notes) {
  put(NotesOf{std::move(run), std::move(notes)});
}

void Recorder::set_name(Run run, std::string name) { put(NameOf{std::move(run), std::move(name)}); }

void Recorder::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (!progress_.error.empty() && waiting_.size() >= kMaxWaiting) {
    notices_.push_back(
        fmt::format("Not recorded: {} results already wait for {}; this one is only in the window",
                    waiting_.size(), progress_.path));
    return;
  }
  waiting_.push_back(std::move(entry));
  progress_.waiting = waiting_.size();
  changed_.notify_one();
}

void Recorder::move_to(std::string path) {
  const std::lock_guard lock(mutex_);
  wanted_path_ = std::move(path);
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

bool Recorder::keeps(const std::shared_ptr<const void>& result) const {
  const std::lock_guard lock(mutex_);
  if (written_.contains(result)) return true;
  return progress_.error.empty() && std::ranges::any_of(waiting_, [&](const Entry& entry) {
           const auto* record = std::get_if<Record>(&entry);
           return record != nullptr &&
                  std::visit([&](const auto& one) { return one == result; }, *record);
         });
}

Recorder::Results Recorder::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

std::vector<std::string> Recorder::take_notices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void Recorder::add_notice(std::string notice) {
  if (notice.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    notices_.push_back(std::move(notice));
  }
  wake_();
}

void Recorder::set_error(const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.error == error) return;
    progress_.error = error;
  }
  wake_();
}

void Recorder::end(const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    progress_.error = error;
    progress_.finished = true;
  }
  wake_();
}

std::optional<std::size_t> Recorder::place_of(const Run& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? std::nullopt : std::optional(found->second);
}

engine::Status Recorder::write(profiling::SessionWriter& writer, const Entry& entry) {
  if (const auto* notes = std::get_if<NotesOf>(&entry)) {
    const auto place = place_of(notes->run);
    return place ? writer.set_time_notes(*place, notes->notes) : engine::Status();
  }
  if (const auto* name = std::get_if<NameOf>(&entry)) {
    const auto place = place_of(name->run);
    return place ? writer.set_run_name(*place, name->name) : engine::Status();
  }
  return std::visit(
      [&](const auto& record) {
        engine::Status status = writer.append(*record);
        if (status.ok()) count(record);
        return status;
      },
      std::get<Record>(entry));
}

template <class Recorded>
void Recorder::count(const std::shared_ptr<const Recorded>& written) {
  {
    const std::lock_guard lock(mutex_);
    if constexpr (std::is_same_v<Recorded, profiling::RecordedRun>) {
      std::erase_if(runs_, [](const auto& run) { return run.first.expired(); });
      runs_[written] = progress_.written.runs;
    }
    ++profiling::of_kind<Recorded>(progress_.written);
    std::erase_if(written_, [](const auto& one) { return one.expired(); });
    written_.insert(written);
  }
  wake_();
}

/// Moves the recording to where the user wants it, or back to its name if its file was removed.
void Recorder::keep_in_place(profiling::SessionWriter& writer) {
  std::optional<std::string> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::exchange(wanted_path_, std::nullopt);
  }
  const engine::Status status = wanted ? writer.move_to(*wanted) : writer.keep_in_place();
  if (!status.ok()) {
    wanted ? add_notice("The recording stays where it is: " + status.error().message)
           : set_error(status.error().message);
  } else if (wanted) {
    add_notice("The recording goes on in " + *wanted);
  }
  bool nothing_waits = false;
  {
    const std::lock_guard lock(mutex_);
    progress_.path = writer.path();
    nothing_waits = waiting_.empty();
  }
  if (status.ok() && nothing_waits) set_error("");
  add_notice(writer.take_notice());
}

void Recorder::write_until_finished(profiling::SessionWriter& writer) {
  bool blocked = false;
  while (true) {
    bool last_try = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kCheckInterval, [&] {
        return finishing_ || wanted_path_ || (!blocked && !waiting_.empty());
      });
      last_try = finishing_;
    }
    keep_in_place(writer);
    Entry entry;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        if (last_try) return;
        continue;
      }
      entry = waiting_.front();
    }
    const engine::Status status = engine::guarded([&] { return write(writer, entry); });
    blocked = !status.ok() && status.error().code != engine::ErrorCode::InvalidArgument;
    if (blocked) {
      set_error(status.error().message);
      if (last_try) return;
      continue;
    }
    // An entry that violates a limit would be refused again.
    if (!status.ok()) add_notice(status.error().message);
    {
      const std::lock_guard lock(mutex_);
      waiting_.pop_front();
      progress_.waiting = waiting_.size();
      progress_.path = writer.path();
    }
    set_error("");
    add_notice(writer.take_notice());
  }
}

/// The window is closing and can no longer ask: what still waits goes to the folder for temporary
/// files instead of being lost.
void Recorder::rescue(profiling::SessionWriter& writer) {
  {
    const std::lock_guard lock(mutex_);
    if (!closing_ || waiting_.empty()) return;
  }
  std::error_code error;
  const std::filesystem::path name = std::filesystem::path(writer.path()).filename();
  const std::string path = (std::filesystem::temp_directory_path(error) / name).string();
  if (error || !writer.move_to(path).ok()) return;
  fmt::print(stderr, "The recording could not be continued in its place: it is in {}\n", path);
  write_until_finished(writer);
}

void Recorder::write_all() {
  auto created = profiling::SessionWriter::create(path_);
  if (!created.ok()) return end(created.error().message);
  profiling::SessionWriter& writer = *created.value();
  write_until_finished(writer);
  rescue(writer);
  const engine::Status closed = writer.close();
  // Nothing came, as when every run was refused: a file without a run is of no use.
  if (closed.ok()) writer.discard_if_empty();
  if (!closed.ok()) take_written();
  {
    // Closing checks every byte, and goes to another name if the file was changed until then.
    const std::lock_guard lock(mutex_);
    progress_.path = writer.path();
  }
  add_notice(writer.take_notice());
  const Progress last = progress();
  if (last.waiting > 0) return end(last.error);
  end(closed.ok() ? "" : closed.error().message);
}

}  // namespace app
