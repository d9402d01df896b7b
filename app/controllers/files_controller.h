// Files: what is opened, recorded, saved, exported and remembered. Everything is read and written
// on other threads; writes keep their order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/commands.h"
#include "app/controllers/notices.h"
#include "app/controllers/recorder.h"
#include "app/controllers/session_state.h"
#include "app/page/recording_page.h"

namespace app {

enum class FileKind { Recording, Graph, Tensor, Tour, Unknown };
/// Kind of a file by its suffix.
FileKind file_kind(const std::string& path);

/// Kept between starts of the window.
struct RememberedFiles {
  std::string folder{};               // where the last file was opened or saved
  std::vector<std::string> recent{};  // opened before, newest first
  bool operator==(const RememberedFiles&) const = default;
};
inline constexpr std::size_t kMaxRecentFiles = 12;

struct RecentFile {
  std::string path;
  std::string missing;  // why it cannot be opened; empty = it can, or is not known yet
};

class FilesController {
 public:
  /// `remembered` and `notices` outlive it.
  FilesController(const std::function<void()>& wake, RememberedFiles& remembered, Notices& notices);

  void open_recording(const std::string& path);
  /// To compare with.
  void open_second(const std::string& path);
  /// Whatever was read since the last call.
  /// One that cannot be read leaves the recent files.
  std::optional<engine::Result<profiling::Session>> take_recording();
  std::optional<engine::Result<profiling::Session>> take_second() { return second_loader_.take(); }

  /// Starts to write every result, or stops; pending results are still written.
  void toggle_recording();
  void record_to(const std::string& path);
  void move_recording(const std::string& path);
  /// Blocks until everything is in the file.
  void close_recording() { recorder_.reset(); }
  bool recording() const { return recorder_ != nullptr; }
  /// As of the last tick().
  const Recorder::Progress& recording_progress() const { return progress_; }
  /// Path of the current recording, or of the next.
  const std::string& recording_path() const { return recording_path_; }
  void record(Recorder::Record record);

  /// All live results, with notes and names.
  void save_session(const SessionState& state, const std::string& path);
  bool saving() const { return saver_ != nullptr; }
  /// Path of the save in progress; empty = none.
  std::string saving_path() const { return saving() ? saver_->progress().path : std::string(); }
  /// The file of the last save could not be written.
  bool save_failed() const { return save_failed_; }
  /// Live results that are in no file: neither recorded, or about to be, nor saved. A run that the
  /// window made by itself, at its start, does not count.
  std::size_t unsaved(const SessionState& state) const;
  /// How many results of this window are in a closed file; those that it has forgotten do not
  /// count.
  std::size_t results_in_files() const { return in_files_.size(); }
  /// Into the recording that the run on screen is from, or with the live run. A recording of
  /// somebody else, or one that ships, is not changed: the notes stay in the window.
  void save_notes(const SessionState& state, const std::vector<profiling::TimeNote>& notes);
  /// Writes the name in the same way.
  void save_name(const SessionState& state, const std::string& name);
  void save_table(const CsvOrder& order);
  void save_report(DoctorState::Report report, const std::string& path);
  void save_records(const SessionState::Run& run, const RecordsOrder& order,
                    const std::string& path);
  /// All results of the open recording, or of this window, as one HTML page, with the two sides
  /// that are compared on screen. With `paths`: also folders, this machine's name and its user's.
  void save_page(const SessionState& state, const std::string& path, bool with_paths,
                 std::optional<PageComparison> compared = {});
  /// `done` is the notice after success.
  void save_text(const std::string& path, const std::string& text, const std::string& done);

  /// `path` moved or put to the front of the recent files.
  void remember_file(const std::string& path);
  /// It could not be read.
  void forget_file(const std::string& path);
  void remember_folder(const std::string& path);
  /// Remembers the folder of a file that is opened, if there is a file at this path.
  void remember_folder_of(const std::string& path);
  /// Checks in the background which recent files still exist.
  void check_recent();
  std::vector<RecentFile> recent() const;
  const std::string& folder() const { return remembered_.folder; }
  /// An unused name in the last folder; in the current one if that is the program's own.
  std::string dated_path(const std::string& stem, const char* suffix) const;

  /// Collects results of writes; true when there is something to draw.
  bool tick();

 private:
  bool take_outcomes();
  bool collect(std::unique_ptr<Recorder>& recorder, const char* done, const char* failed);

  std::function<void()> wake_;
  RememberedFiles& remembered_;
  Notices& notices_;
  BackgroundTask<engine::Result<profiling::Session>> loader_;
  std::string loading_;  // the newest that `loader_` reads
  BackgroundTask<engine::Result<profiling::Session>> second_loader_;
  BackgroundTask<std::vector<RecentFile>> checker_;
  std::vector<RecentFile> checked_;
  WriteQueue writes_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Recorder> saver_;  // writes all live results, then ends
  bool save_failed_ = false;
  Recorder::Results in_files_;  // that are closed
  bool stopping_ = false;       // the recorder takes nothing more
  std::string recording_path_;
  Recorder::Progress progress_;
};

}  // namespace app
