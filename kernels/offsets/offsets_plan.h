// What the offsets kernel is launched with: every output of SplitsToOffsetsArgs in one form, sorted
// by its unit, so that each distinct unit is scanned once. Host-safe.
#pragma once

#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {

/// Which of a group's two sums goes where.
enum class Place : std::uint8_t { Begins, Ends, EndsAfterZero };

/// Value of group g: base + g * per_group + units * per_unit. A pointer is a number of bytes here;
/// of an OffsetArray only the stride is not 0.
struct PlannedOutput {
  void* values = nullptr;
  std::int64_t base = 0;
  std::int64_t per_group = 0;
  std::int64_t per_unit = 0;
  IntegerType type = IntegerType::Int64;
  Place place = Place::Begins;
};

struct PlannedUnit {
  std::int64_t unit = 1;
  int shift = 0;        // log2(unit); -1 = not a power of two
  int outputs_end = 0;  // past the last output of this unit, whose outputs follow one another
};

inline constexpr int kMaxOutputs = kMaxOffsetArrays + kMaxPointerArrays;
inline constexpr int kMaxUnits = kMaxOutputs + 1;  // the row, though no output may ask for it

struct OffsetsPlan {
  const void* splits = nullptr;
  IntegerType split_type = IntegerType::Int64;
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t* row_offsets = nullptr;
  std::int32_t* rows = nullptr;
  std::int32_t* padded_rows = nullptr;
  PlannedUnit padded_rows_unit = {};
  std::uint32_t* error_word = nullptr;
  PlannedUnit units[kMaxUnits] = {};  // [0] is the row; past num_units: no outputs
  int num_units = 0;
  PlannedOutput outputs[kMaxOutputs] = {};
};

/// False if the arguments are none that the kernel takes: too many arrays, or a unit below 1.
bool make_offsets_plan(const SplitsToOffsetsArgs& args, OffsetsPlan& plan);

}  // namespace kernels
