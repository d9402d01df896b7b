// Operand types shared by every kernel and its CPU twin. Host-safe; CUDA types only in the CUDA
// flavour.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/activation.h"
#include "kernels/common/formats.h"
#include "kernels/common/host_device.h"

#ifdef EXPERTSCOPE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kernels {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

inline constexpr std::int64_t kBlock = 128;  // side of a scale block of FP8 block scaling
/// Joined lines: groups begin at multiples of this, what one step of a product reads of a line.
inline constexpr std::int64_t kJoinedUnit = 32;

struct ScaleOptions {
  bool pow2 = false;
  float amax_epsilon = 0.0F;
};

/// One packed grouped operand: group g owns rows [row_offsets[g], row_offsets[g + 1]) of `input`.
/// On a GPU all pointers are device pointers and the host never knows row_offsets; for a CPU twin
/// all are host pointers. Rows from row_offsets[num_groups] on (capacity_rows may be larger) are
/// neither read nor written.
///
/// What is quantized is the input itself, or what an activation makes of it, rounded to the input's
/// type: y, or, where `output_gradient` holds the gradient of y, the gradient of the input. That
/// makes a fused kernel bit-identical to activation/activate.h followed by the plain kernel.
struct GroupedInput {
  const void* input = nullptr;  // [capacity_rows, input_columns()] row-major; gated: the gate's
                                // columns, then up's
  InputType type = InputType::Bf16;
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;  // that are quantized; multiple of 16
  Activation activation = {};
  const void* output_gradient = nullptr;  // [capacity_rows, activated_columns()] of the same type

  /// Columns of y, and so of gate and of up; a multiple of 16.
  KERNELS_HOST_DEVICE constexpr std::int64_t activated_columns() const {
    return activation.gated && output_gradient != nullptr ? columns / 2 : columns;
  }
  /// The value of the most frequent activation, which some kernels have a fast way for.
  KERNELS_HOST_DEVICE constexpr bool is_swiglu() const {
    return activation.is_swiglu() && output_gradient == nullptr;
  }
  KERNELS_HOST_DEVICE constexpr std::int64_t input_columns() const {
    return activation.gated ? 2 * activated_columns() : columns;
  }
};

/// Destination of the quantized rows of the groups: group g fills rows [row_offsets[g],
/// row_offsets[g + 1]) of the outputs, at least as many as it has. The extra rows are quantized as
/// zeros, so that the quantize pass directly produces the aligned operand of a product (fused
/// padding).
struct OutputRows {
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]; null = the input's
  std::int64_t capacity_rows = 0;             // rows the outputs were allocated for
  /// Only the columnwise outputs (codes and scales) have these rows; the rowwise ones keep the
  /// input's. FP8 per-tensor and block scaling; units of padding divide 128.
  bool columnwise_only = false;
  /// Columnwise 1x128 codes are one matrix [columns, capacity_rows] instead of one per group: row
  /// r of group g is at [c, row_offsets[g] + r]. One description of it serves the products of all
  /// groups, wherever they begin. Row offsets and capacity_rows are multiples of 16.
  bool joined = false;
};

/// When and where one tile ran, written by the thread block that worked on it.
struct TileStamp {
  std::uint64_t begin_ns = 0;  // %globaltimer; 0 = this tile did not run
  std::uint64_t end_ns = 0;
  std::uint32_t sm = 0;  // %smid
  std::int32_t group = 0;
};

/// Tile t of a launch writes stamps[t] if t < capacity. Launches with stamps use separate template
/// instances, so others pay nothing for them. CPU twins write none.
struct StampBuffer {
  TileStamp* stamps = nullptr;
  std::int64_t capacity = 0;
};

/// Options of a quantize launch besides its operands.
struct LaunchControls {
  const float* noop =
      nullptr;  // optional scalar: 1 = every quantized output stays unchanged (a cached
                // weight in a replayed graph); bias partials are written anyway
  StampBuffer stamps = {};
  /// Optional, {0, 0} before the first launch: thread blocks of the tile kernels then take their
  /// tiles dynamically instead of round-robin, and leave {0, 0} behind. A pair belongs to one
  /// launch at a time.
  std::uint32_t* tickets = nullptr;
};

KERNELS_HOST_DEVICE inline bool is_noop(const float* noop) {
  return noop != nullptr && *noop == 1.0F;
}

/// Rows covered by one partial sum of the bias gradient: a group is cut into strips of this height.
inline constexpr std::int64_t kBiasStripRows = 128;

#ifdef EXPERTSCOPE_WITH_CUDA
/// A stream, and whether kernels are launched on it with programmatic stream serialization: then a
/// kernel may become resident while its predecessor still runs, and waits for it in its own first
/// statement (common/launch.cuh). The results have the same bits either way.
struct LaunchStream {
  cudaStream_t stream = nullptr;
  bool programmatic = false;

  LaunchStream(cudaStream_t on, bool overlaps = false)  // NOLINT: implicit by design
      : stream(on), programmatic(overlaps) {}
};
#endif

}  // namespace kernels
