#include "engine/linear/step_arrays.h"

#include <utility>
#include <vector>

namespace engine {
namespace {

Status take(DeviceBuffer& buffer, std::int64_t bytes, AllocationLabel label) {
  Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes, std::move(label));
  if (!allocated.ok()) return allocated.error();
  buffer = std::move(allocated).value();
  return {};
}

template <class T>
Status take_filled(DeviceBuffer& buffer, const std::vector<T>& values, AllocationLabel label,
                   cudaStream_t stream) {
  ENGINE_TRY(take(buffer, static_cast<std::int64_t>(values.size() * sizeof(T)), std::move(label)));
  return copy_to_device<T>(buffer.data(), values, stream);
}

}  // namespace

Result<StepArrays> StepArrays::create(const StepConfig& config, cudaStream_t stream) {
  const std::int64_t groups = config.num_groups;
  const auto count = static_cast<std::size_t>(groups);
  StepArrays made;
  ENGINE_TRY(take_filled(
      made.splits,
      std::vector<std::uint8_t>(count * static_cast<std::size_t>(config.split_bytes()), 0),
      {AllocationRole::Splits, "splits"}, stream));
  ENGINE_TRY(take(made.row_offsets, 8 * (groups + 1), {AllocationRole::Splits, "row offsets"}));
  ENGINE_TRY(
      take(made.padded_offsets, 8 * (groups + 1), {AllocationRole::Splits, "padded offsets"}));
  ENGINE_TRY(take(made.rows, 4 * groups, {AllocationRole::Splits, "rows an expert"}));
  ENGINE_TRY(take(made.padded_rows, 4 * groups, {AllocationRole::Splits, "padded rows an expert"}));
  ENGINE_TRY(take_filled(made.error_word, std::vector<std::uint32_t>{0},
                         {AllocationRole::Check, "error word"}, stream));
  std::vector<std::int64_t> weight_offsets(count + 1);
  for (std::size_t g = 0; g <= count; ++g) {
    weight_offsets[g] = static_cast<std::int64_t>(g) * config.n;
  }
  ENGINE_TRY(take_filled(made.weight_offsets, weight_offsets,
                         {AllocationRole::Splits, "weight offsets"}, stream));
  ENGINE_TRY(take_filled(made.n_dims,
                         std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.n)),
                         {AllocationRole::Splits, "n of every expert"}, stream));
  ENGINE_TRY(take_filled(made.k_dims,
                         std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.k)),
                         {AllocationRole::Splits, "k of every expert"}, stream));
  ENGINE_TRY(take_filled(made.scalars, std::vector<float>{0.0F, 1.0F},
                         {AllocationRole::Input, "alpha and beta"}, stream));
  ENGINE_TRY(take_filled(made.keep_weights, std::vector<float>{0.0F},
                         {AllocationRole::Input, "keep-weights flag"}, stream));
  if (config.scalars_a_group) {
    ENGINE_TRY(take_filled(made.zero_pointers, std::vector<const float*>(count, made.zero()),
                           {AllocationRole::PointerArray, "pointers to beta"}, stream));
    ENGINE_TRY(take_filled(made.one_pointers, std::vector<const float*>(count, made.one()),
                           {AllocationRole::PointerArray, "pointers to alpha"}, stream));
  }
  return made;
}

}  // namespace engine
