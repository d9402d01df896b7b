// The small arrays of a step on the device: splits and what follows from them, and the arrays of
// addresses that grouped products read, with the launches that fill them. What depends on the
// splits is filled on the device within the step, so a replay follows new splits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/linear/step_config.h"
#include "kernels/offsets/splits_to_offsets.h"

namespace engine {

// The small arrays of a step, on the device: splits and what follows from them, dimensions,
// scalars. Allocated once, addresses never change.

struct StepArrays {
  DeviceBuffer splits;          // [num_groups], int64 or int32, written by the router
  DeviceBuffer row_offsets;     // int64 [num_groups + 1]
  DeviceBuffer padded_offsets;  // int64 [num_groups + 1], in multiples of row_unit()
  DeviceBuffer rows;            // int32 [num_groups]
  DeviceBuffer padded_rows;     // int32 [num_groups]
  DeviceBuffer error_word;      // uint32, sticky
  DeviceBuffer weight_offsets;  // int64 [num_groups + 1], rows of W before each group
  DeviceBuffer n_dims;          // int32 [num_groups], all n
  DeviceBuffer k_dims;          // int32 [num_groups], all k
  DeviceBuffer scalars;         // float {0, 1}
  DeviceBuffer zero_pointers;   // [num_groups], each to the 0 of scalars; scalars_per_group only
  DeviceBuffer one_pointers;    // the same for the 1
  DeviceBuffer keep_weights;    // float: 1 = quantized weights stay as they are
  DeviceBuffer tickets;         // uint32 [product_count, 2], own products only

  const float* zero() const { return scalars.as<float>(); }
  const float* one() const { return scalars.as<float>() + 1; }
  /// Of product number `product`, with which its thread blocks take their tiles.
  std::uint32_t* tickets_of(int product) const {
    return tickets.as<std::uint32_t>() + 2 * std::int64_t{product};
  }

  /// Synchronises.
  static Result<StepArrays> create(const StepConfig& config, cudaStream_t stream);
};

// Where the groups of an operand or output start: a rule that depends on the splits, a fixed
// stride, or a list.

struct GroupAddresses {
  /// base + group * bytes_per_group + bytes_per_unit * units of the groups before.
  kernels::PointerArray rule = {};
  /// If not empty: the addresses themselves.
  std::vector<void*> listed = {};

  /// Whether the addresses are known without the splits.
  bool fixed() const { return !listed.empty() || rule.bytes_per_unit == 0; }
  explicit operator bool() const { return !listed.empty() || rule.base != nullptr; }
};

/// The addresses for these splits, as the offsets kernel makes them.
std::vector<void*> resolve(const GroupAddresses& addresses, std::span<const std::int64_t> splits);

/// What a product reads addresses of.
enum class ProductArray { A, B, D, ScalesA, ScalesB };
inline constexpr int kProductArrays = 5;

class PointerArrays {
 public:
  /// `apart`: a head of their own fills the arrays of backward.
  static Result<PointerArrays> create(const StepConfig& config, const StepArrays& arrays,
                                      bool apart);

  /// The device array that holds `addresses` whenever product number `product` runs.
  /// Synchronises where the addresses are fixed.
  Result<void* const*> add(int product, ProductArray which, const GroupAddresses& addresses,
                           cudaStream_t stream);

  /// Launches the head of the step: it computes offsets and rows and, with SetupArrays::PerMatmul,
  /// fills every array. If the passes are captured apart, the other head fills the arrays of
  /// backward: otherwise a graph would write addresses of memory that does not belong to it yet,
  /// and seem to use it.
  Status launch_head(kernels::LaunchStream stream) const;
  Status launch_backward_head(kernels::LaunchStream stream) const;
  /// Called before a product: does nothing with SetupArrays::PerMatmul.
  Status launch_before(int product, kernels::LaunchStream stream) const;

 private:
  void** array(int product, ProductArray which) const;
  void plan(std::vector<kernels::SplitsToOffsetsArgs>& launches,
            const kernels::PointerArray& pointer_array) const;

  StepConfig config_;
  bool apart_ = false;
  kernels::SplitsToOffsetsArgs offsets_;  // without pointer arrays
  DeviceBuffer pool_;
  std::vector<kernels::SplitsToOffsetsArgs> head_;
  std::vector<kernels::SplitsToOffsetsArgs> backward_head_;
  std::vector<std::vector<kernels::SplitsToOffsetsArgs>> before_;  // per product
};

}  // namespace engine
