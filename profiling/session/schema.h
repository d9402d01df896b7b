// The tables of a session file, each defined once: the writer creates them, the reader refuses a
// file whose tables differ by a byte. README.md of this folder explains every column.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace profiling {

inline constexpr std::int32_t kApplicationId = 0x58505343;  // "XPSC", shown by `file`
inline constexpr std::int32_t kSchemaVersion = 8;           // PRAGMA user_version
inline constexpr std::int32_t kOldestSchemaVersion = 1;     // still read

struct TableDefinition {
  const char* name;
  const char* sql;  // exactly as sqlite_schema keeps it
};
/// The tables of this version of the schema, the newest by default.
std::span<const TableDefinition> session_tables(std::int32_t version = kSchemaVersion);

/// Since these versions; older files have none of it.
inline constexpr std::int32_t kComparisonsVersion = 2;
inline constexpr std::int32_t kLinearStepVersion = 3;
inline constexpr std::int32_t kDoctorVersion = 4;
inline constexpr std::int32_t kMeasurementVersion = 5;
inline constexpr std::int32_t kEventVersion = 6;
inline constexpr std::int32_t kWatchAndHistoryVersion = 7;

inline constexpr std::array<std::string_view, 3> kOperandNames = {"X", "W", "dY"};
inline constexpr std::array<std::string_view, 3> kProductNames = {"fprop", "dgrad", "wgrad"};
inline constexpr std::array<std::string_view, 4> kHistogramKinds = {"before", "after", "amax",
                                                                    "scale"};
inline constexpr std::array<std::string_view, 5> kActivityKindNames = {"host span", "kernel",
                                                                       "memcpy", "memset", "graph"};

inline constexpr std::array<std::string_view, 2> kDirectionNames = {"rowwise", "columnwise"};
inline constexpr std::array<std::string_view, 6> kScalingNames = {
    "bf16", "fp8-per-tensor", "fp8-block", "fp8-delayed", "mxfp8", "nvfp4"};
inline constexpr std::array<std::string_view, 2> kFormatNames = {"e4m3", "e5m2"};
inline constexpr std::array<std::string_view, 2> kAlgorithmNames = {"most-recent", "max"};

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
inline constexpr int kMaxGroupRuns = 10'000;                 // of one sweep or A/B
inline constexpr std::int64_t kMaxAlgorithms = 3;            // of one run: one a product
inline constexpr std::int64_t kMaxComparisonReports = 1000;  // of one comparison

}  // namespace profiling
