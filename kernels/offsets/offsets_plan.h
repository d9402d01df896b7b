// The offsets kernel's launch argument: every output of SplitsToOffsetsArgs in a common form,
// sorted by unit and distributed over the thread blocks. Host-safe.
#pragma once

#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {

/// Which sums an output holds: the units before each group, the units up to its end, or both.
enum class Place : std::uint8_t { Begins, Ends, EndsAfterZero };

/// Value of group g: base + g * per_group + units * per_unit. A pointer is a byte address here; for
/// an OffsetArray only the stride is nonzero.
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

/// The outputs that one thread block writes, all of one unit. They are stored inline, so that a
/// block reads its constants at once instead of miss after miss.
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
  PlannedShare shares[kMaxOutputs + 1] = {};  // [0] is the row offsets and what derives from them
};

/// False if the kernel cannot take the arguments: too many arrays, or a unit below 1.
bool make_offsets_plan(const SplitsToOffsetsArgs& args, OffsetsPlan& plan);

}  // namespace kernels
