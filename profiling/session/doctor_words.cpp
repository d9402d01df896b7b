#include "profiling/hazards/model/names.h"
#include "profiling/session/snapshot_tables.h"

namespace profiling {
namespace {

/// Every value from 0 to `last`.
template <class Enum>
void write_words(TableWriter& words, std::string_view enumeration, Enum last) {
  for (int value = 0; value <= static_cast<int>(last); ++value) {
    words.row(enumeration, value, name_of(static_cast<Enum>(value)));
  }
}

}  // namespace

engine::Status write_doctor_words(const Target& to) {
  TableWriter words(to, "doctor_words", 3);
  write_words(words, "node type", NodeType::Conditional);
  words.row("node type", static_cast<int>(NodeType::Unknown), name_of(NodeType::Unknown));
  write_words(words, "edge kind", EdgeKind::LaunchOrder);
  write_words(words, "event kind", CaptureEvent::Kind::HostSync);
  write_words(words, "memory space", engine::MemorySpace::Managed);
  write_words(words, "allocation role", engine::kLastAllocationRole);
  write_words(words, "confidence", Confidence::Disproved);
  write_words(words, "verdict", Verdict::NotRun);
  write_words(words, "node state", NodeState::Unmarked);
  write_words(words, "stall kind", StallKind::Unknown);
  return words.take();
}

}  // namespace profiling
