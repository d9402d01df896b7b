// The tables of a session file, each defined once: the writer creates them, the reader refuses a
// file whose tables differ by a byte. README.md of this folder explains every column.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace profiling {

inline constexpr std::int32_t kApplicationId = 0x58505343;  // "XPSC", shown by `file`
inline constexpr std::int32_t kSchemaVersion = 1;           // PRAGMA user_version

struct TableDefinition {
  const char* name;
  const char* sql;  // exactly as sqlite_schema keeps it
};
std::span<const TableDefinition> session_tables();

inline constexpr std::array<std::string_view, 2> kOperandNames = {"X", "W"};
inline constexpr std::array<std::string_view, 4> kHistogramKinds = {"before", "after", "amax",
                                                                    "scale"};
inline constexpr std::array<std::string_view, 4> kActivityKindNames = {"host span", "kernel",
                                                                       "memcpy", "memset"};

inline constexpr int kHistogramBins = 1024;  // FP32 bits without sign, shifted right by 21
/// Smallest magnitude that falls into the bin; infinite from bin 1020 on, where no finite value is.
double histogram_lower_edge(int bin);

inline constexpr int kMaxMapSide = 512;                      // cells of a scale map
inline constexpr int kMaxCellBytes = 4 << 20;                // one text or blob of the file
inline constexpr std::int64_t kMaxGraphNodes = 1 << 20;      // of one run
inline constexpr std::int64_t kMaxNames = 1 << 20;           // of one run
inline constexpr std::int64_t kMaxGraphEdges = 1 << 22;      // of one run
inline constexpr std::int64_t kMaxDeviations = 1000;         // of one run
inline constexpr std::int64_t kMaxReplayChecks = 1'000'000;  // of one run
inline constexpr std::int64_t kMaxNotes = 1000;

}  // namespace profiling
