// The tables of all versions in the order in which a file has them; a version only adds some.
// Every table is STRICT.
#include "profiling/session/schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "profiling/session/comparison_schema.h"
#include "profiling/session/doctor_schema.h"
#include "profiling/session/event_schema.h"
#include "profiling/session/history_schema.h"
#include "profiling/session/measurement_schema.h"
#include "profiling/session/numerics_schema.h"
#include "profiling/session/run_schema.h"
#include "profiling/session/step_schema.h"
#include "profiling/session/watch_schema.h"

namespace profiling {
namespace {

// How many there are up to each version.
constexpr std::size_t kVersion1 = std::size(kRunTables);
constexpr std::size_t kVersion2 = kVersion1 + std::size(kComparisonTables);
constexpr std::size_t kVersion3 = kVersion2 + std::size(kStepTables);
constexpr std::size_t kVersion4 = kVersion3 + std::size(kDoctorTables);
constexpr std::size_t kVersion5 =
    kVersion4 + std::size(kMeasurementTables) + std::size(kNumericsTables);
constexpr std::size_t kVersion6 = kVersion5 + std::size(kEventTables);
constexpr std::size_t kVersion7 =
    kVersion6 + std::size(kReplayWatchTables) + std::size(kHistoryTables);
static_assert(kSchemaVersion == 8);  // 8 has the tables of 7

constexpr auto kAllTables = [] {
  std::array<TableDefinition, kVersion7> all{};
  auto end = std::ranges::copy(kRunTables, all.begin()).out;
  end = std::ranges::copy(kComparisonTables, end).out;
  end = std::ranges::copy(kStepTables, end).out;
  end = std::ranges::copy(kDoctorTables, end).out;
  end = std::ranges::copy(kMeasurementTables, end).out;
  end = std::ranges::copy(kNumericsTables, end).out;
  end = std::ranges::copy(kEventTables, end).out;
  end = std::ranges::copy(kReplayWatchTables, end).out;
  std::ranges::copy(kHistoryTables, end);
  return all;
}();

}  // namespace

std::span<const TableDefinition> session_tables(std::int32_t version) {
  const std::span<const TableDefinition> all = kAllTables;
  if (version < kComparisonsVersion) return all.first(kVersion1);
  if (version < kLinearStepVersion) return all.first(kVersion2);
  if (version < kDoctorVersion) return all.first(kVersion3);
  if (version < kMeasurementVersion) return all.first(kVersion4);
  if (version < kEventVersion) return all.first(kVersion5);
  if (version < kWatchAndHistoryVersion) return all.first(kVersion6);
  return all;
}

double histogram_lower_edge(int bin) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << 21));
}

}  // namespace profiling
