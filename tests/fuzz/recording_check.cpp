#include "tests/fuzz/recording_check.h"

#include <filesystem>

#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/session/sample_recording.h"

namespace fuzz {
namespace {

using profiling::Session;

engine::Status write(const std::string& path, const Session& session) {
  auto writer = profiling::SessionWriter::create(path);
  if (!writer.ok()) return writer.error();
  engine::Status status;
  for (const auto& run : session.runs) {
    if (status.ok()) status = writer.value()->append(run);
  }
  for (const auto& comparison : session.comparisons) {
    if (status.ok()) status = writer.value()->append(comparison);
  }
  for (const auto& visit : session.visits) {
    if (status.ok()) status = writer.value()->append(visit);
  }
  for (const auto& [key, value] : session.notes) {
    if (status.ok()) status = writer.value()->set_note(key, value);
  }
  return status;
}

void require_equal(const Session& a, const Session& b) {
  const auto sizes = [](const Session& s) {
    return std::array{s.runs.size(), s.comparisons.size(), s.visits.size()};
  };
  require(sizes(a) == sizes(b) && a.notes == b.notes, "all of a recording comes back");
  for (std::size_t i = 0; i < a.runs.size(); ++i) {
    const std::string before = describe(a.runs[i]);
    const std::string after = describe(b.runs[i]);
    require(before == after, "a run comes back as it was", before + "\nis now\n" + after);
    require(a.runs[i].request == b.runs[i].request &&
                a.runs[i].result.effective == b.runs[i].result.effective,
            "a request comes back as it was");
    require(a.runs[i].snapshot == b.runs[i].snapshot, "a snapshot comes back as it was");
  }
  for (std::size_t i = 0; i < a.comparisons.size(); ++i) {
    require(describe(a.comparisons[i]) == describe(b.comparisons[i]),
            "a comparison comes back as it was");
  }
  for (std::size_t i = 0; i < a.visits.size(); ++i) {
    require(a.visits[i].request == b.visits[i].request &&
                a.visits[i].wall_clock_ms == b.visits[i].wall_clock_ms &&
                a.visits[i].report == b.visits[i].report,
            "a visit comes back as it was");
  }
}

}  // namespace

std::string refusal_of_recording(const Session& session) {
  const std::string path = scratch_folder() + "/written.session";
  for (const char* const rest : {"", "-wal", "-shm"}) std::filesystem::remove(path + rest);
  const engine::Status written = write(path, session);
  if (!written.ok()) {
    require_sentence(written.error().message);
    return written.error().message;
  }
  const auto again = profiling::open_session(path);
  require(again.ok(), "what is written is read", again.ok() ? "" : again.error().message);
  require_equal(session, again.value());
  return {};
}

}  // namespace fuzz
