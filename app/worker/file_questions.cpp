#include "app/worker/file_questions.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/input/recorded_routing.h"
#include "engine/input/regular_file.h"
#include "engine/input/routing_kind.h"

namespace app {
namespace {

FileReport blank_report(const FileQuestion& question) {
  FileReport report{.path = question.path, .error = {}, .tensors = {}};
  report.asked = question.routing;
  if (question.folder) report.listing.emplace();
  return report;
}

FileReport superseded(const FileQuestion& question) {
  FileReport report = blank_report(question);
  report.superseded = true;
  return report;
}

/// FileReport::neighbours. What cannot be listed has none: the file itself has been read.
std::vector<std::string> neighbours_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t kMostLooked = 10000;  // a folder with more takes too long over a network
  const fs::path parent = fs::path(path).parent_path();
  std::vector<std::string> names;
  std::error_code error;
  std::size_t looked = 0;
  for (fs::directory_iterator at(parent.empty() ? "." : parent, error), end; !error && at != end;
       at.increment(error)) {
    if (++looked > kMostLooked) return {};
    std::error_code ignored;
    if (at->path().extension() != ".npy" || !at->is_regular_file(ignored)) continue;
    names.push_back(at->path().filename().string());
    if (names.size() > kMaxNeighbours) return {};
  }
  std::ranges::sort(names);
  return names;
}

engine::Status describe(const FileQuestion& question, const std::atomic<bool>& cancel,
                        FileReport& report) {
  if (question.folder) {
    ENGINE_ASSIGN(report.listing, list_folder(question.path, *question.folder, &cancel));
    keep_sendable(*report.listing);
    return {};
  }
  if (question.routing) {
    engine::Result<engine::RoutingFacts> facts =
        engine::inspect_routing(*question.routing, &cancel);
    if (facts.ok()) {
      report.routing = std::move(facts).value();
      return {};
    }
    if (question.routing->numbers == engine::RoutingNumbers::Detect) {
      const auto readings = engine::routing_readings(*question.routing);
      if (readings.ok() && readings.value().size() > 1) report.readings = readings.value();
    }
    return facts.error();
  }
  ENGINE_ASSIGN(report.tensors, engine::inspect_file(question.path));
  // One tensor that has no name: a .npy file.
  if (report.tensors.size() == 1 && report.tensors.front().name.empty()) {
    report.neighbours = neighbours_of(question.path);
  }
  if (std::ranges::any_of(report.tensors, &engine::TensorEntry::usable)) return {};
  // Integers are no operand, but may be a recording.
  engine::RoutingSpec routing;
  routing.distribution = engine::RoutingDistribution::File;
  routing.path = question.path;
  engine::Result<engine::RoutingFacts> facts = engine::inspect_routing(routing, &cancel);
  if (facts.ok()) report.routing = std::move(facts).value();
  return {};
}

/// Whether a question makes another, that came before it, pointless.
bool supersedes(const FileQuestion& newer, const FileQuestion& older) {
  if (newer.folder) return older.folder.has_value();
  return newer.routing ? older.routing.has_value() : newer == older;
}

}  // namespace

engine::Result<FileReport> read_file_report(const FileQuestion& question,
                                            const std::atomic<bool>& cancel) {
  FileReport report = blank_report(question);
  engine::Status read = describe(question, cancel, report);
  const engine::Status pages = engine::check_missing_pages();
  if (!pages.ok()) read = pages;
  if (!read.ok() && read.error().code == engine::ErrorCode::Cancelled) return read.error();
  if (!read.ok()) report.error = read.error().message;
  return report;
}

FileQuestions::FileQuestions(std::function<void(const FileReport&)> answer, Reader reader)
    : answer_(std::move(answer)),
      reader_(std::move(reader)),
      thread_([this] { answer_until_closed(); },
              [this](const engine::Error& error) {
                const std::lock_guard lock(mutex_);
                failure_ = error.message;
                ended_ = true;
                changed_.notify_all();
              }) {}

FileQuestions::~FileQuestions() {
  close({});
  thread_.join();
}

void FileQuestions::put(FileQuestion question) {
  std::vector<FileQuestion> dropped;
  {
    std::unique_lock lock(mutex_);
    if (ended_ && !closed_) {
      FileReport report = blank_report(question);
      report.error = "the worker reads no more files: " + failure_;
      lock.unlock();
      return answer_(report);
    }
    const auto pointless = [&](const FileQuestion& older) { return supersedes(question, older); };
    std::ranges::copy_if(waiting_, std::back_inserter(dropped), pointless);
    std::erase_if(waiting_, pointless);
    // The same question is answered from what the reading finds.
    if (reading_ && pointless(*reading_) && *reading_ != question) cancel_ = true;
    waiting_.push_back(std::move(question));
  }
  changed_.notify_all();
  for (const FileQuestion& one : dropped) answer_(superseded(one));
}

bool FileQuestions::close(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  cancel_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, grace, [this] { return ended_; });
}

void FileQuestions::answer_until_closed() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (closed_) break;
    reading_ = std::move(waiting_.front());
    waiting_.pop_front();
    cancel_ = false;
    const FileQuestion question = *reading_;
    lock.unlock();
    const FileReport report = report_on(question);
    lock.lock();
    reading_.reset();
    if (closed_) break;
    lock.unlock();
    answer_(report);
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

FileReport FileQuestions::report_on(const FileQuestion& question) {
  // Before the reading: a file that is written meanwhile is read again.
  const engine::FileStamp stamp = engine::file_stamp(engine::FileInput{question.path, {}});
  if (known_ && known_->question == question && known_->stamp == stamp) return known_->report;
  engine::Result<FileReport> read = engine::guarded([&] { return reader_(question, cancel_); });
  if (!read.ok() && read.error().code == engine::ErrorCode::Cancelled) return superseded(question);
  if (!read.ok()) {
    FileReport report = blank_report(question);
    report.error = read.error().message;
    return report;
  }
  // An error may pass without a change of the file.
  if (question.routing && read.value().error.empty()) known_ = Known{question, stamp, read.value()};
  return std::move(read).value();
}

}  // namespace app
