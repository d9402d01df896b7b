// What the offsets kernel is launched with: every output of SplitsToOffsetsArgs in one form, sorted
// by its unit and dealt to the blocks of threads. Host-safe.
#pragma once

#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {

/// Which sums an output holds: the units before each group, those up to its end, or both.
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
  int shift = 0;  // log2(unit); -1 = not a power of two
};

inline constexpr int kMaxOutputs = kMaxOffsetArrays + kMaxPointerArrays;
inline constexpr int kOutputsPerShare = 2;

/// What one block of threads writes: outputs of one unit. They lie beside it, so that a block reads
/// its constants in one go instead of one miss after another.
struct PlannedShare {
  PlannedUnit unit = {};
  int num_outputs = 0;
  PlannedOutput outputs[kOutputsPerShare] = {};
};

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
  int num_shares = 0;
  PlannedShare shares[kMaxOutputs + 1] = {};  // [0] is the row offsets and what follows from them
};

/// False if the arguments are none that the kernel takes: too many arrays, or a unit below 1.
bool make_offsets_plan(const SplitsToOffsetsArgs& args, OffsetsPlan& plan);

}  // namespace kernels
