#include "profiling/session/session_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "engine/input/file_kind.h"
#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"
#include "profiling/hazards/snapshot/dot_import.h"
#include "profiling/hazards/snapshot/dot_label.h"
#include "profiling/session/recording_source.h"

namespace profiling {
namespace {

/// One byte more than import_dot() takes, which then names its limit.
constexpr std::size_t kMaxDotBytes = (std::size_t{64} << 20) + 1;

engine::Error refuse_snapshots(const std::string& path, std::string_view why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", engine::shown_path(path), why)};
}

engine::Result<std::vector<OpenedSnapshot>> from_session(const std::string& path) {
  ENGINE_ASSIGN(Session opened, open_session(path));
  Session& session = opened;
  std::vector<OpenedSnapshot> snapshots;
  const auto add = [&](std::string_view kind, std::size_t index, OpenedSnapshot found) {
    const Snapshot& snapshot = found.report.snapshot;
    if (snapshot.graphs.empty()) return;
    found.title = fmt::format("{} {}", kind, index + 1);
    if (!snapshot.subject.empty()) found.title += ": " + snapshot.subject;
    found.doubt = session.doubt;
    snapshots.push_back(std::move(found));
  };
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    RecordedRun& run = session.runs[i];
    add("run", i,
        {.report = {.snapshot = std::move(run.snapshot)},
         .request = std::move(run.request),
         .run = static_cast<int>(i)});
  }
  for (std::size_t i = 0; i < session.visits.size(); ++i) {
    RecordedVisit& visit = session.visits[i];
    add("visit", i,
        {.report = std::move(visit.report),
         .request = std::move(visit.request),
         .visit = static_cast<int>(i)});
  }
  if (snapshots.empty()) return refuse_snapshots(path, "this recording holds no captured graph");
  return snapshots;
}

bool begins_like_dot(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  return text.starts_with("digraph") || text.starts_with("strict digraph") ||
         text.starts_with("//");
}

}  // namespace

engine::Result<std::vector<OpenedSnapshot>> open_snapshot(const std::string& path) {
  engine::Result<engine::RegularFile> file = engine::RegularFile::open(path);
  if (!file.ok()) return file.error();
  ENGINE_ASSIGN(std::string text, file.value().read(4096));
  if (text.starts_with(kDatabaseMagic)) return from_session(path);
  if (!begins_like_dot(text)) {
    const std::string kind = engine::kind_of_file(text);
    return refuse_snapshots(path,
                            "is neither a recording nor a dot file of a CUDA graph (which "
                            "begins with 'digraph')" +
                                (kind.empty() ? kind : " but " + kind));
  }
  ENGINE_ASSIGN(const std::string rest, file.value().read(kMaxDotBytes - text.size()));
  text += rest;
  ENGINE_ASSIGN(Snapshot snapshot, import_dot(text, path));
  std::vector<OpenedSnapshot> snapshots(1);
  snapshots[0].title = engine::shown_text(std::filesystem::path(path).filename().string());
  snapshots[0].report.snapshot = std::move(snapshot);
  snapshots[0].report.snapshot.subject = snapshots[0].title;
  return snapshots;
}

}  // namespace profiling
