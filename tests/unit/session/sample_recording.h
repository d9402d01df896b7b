// A run in which every field has a distinct value, and a text form for comparing runs.
#pragma once

#include <filesystem>
#include <string>

#include "profiling/session/session_file.h"

namespace profiling {

/// Values depend on `salt`, so that two runs never agree by accident.
RecordedRun sample_run(int salt);

/// One of its reports is a refusal.
RecordedComparison sample_comparison(int salt);

/// With an outlier, an idle expert and NaNs.
RecordedComparison sample_series(int salt);

/// Every described field, one per line; equal text means equal values (NaN equals NaN).
std::string describe(const engine::Type& type, const void* record);
template <engine::Described T>
std::string describe(const T& record) {
  return describe(engine::kType<T>, &record);
}

/// A new folder, removed with its contents at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Records `runs` sample runs and a comparison, a history and a visit with each; empty on success,
/// else the writer's error.
std::string record(const std::string& path, int runs);

/// Runs SQL on the file with all of SQLite's guards off, as an attacker would.
void alter(const std::string& path, const std::string& sql);

}  // namespace profiling
