#include "engine/linear/step_arrays.h"

#include <utility>
#include <vector>

namespace engine {
namespace {

Status take(DeviceBuffer& buffer, std::int64_t bytes) {
  Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes);
  if (!allocated.ok()) return allocated.error();
  buffer = std::move(allocated).value();
  return {};
}

template <class T>
Status take_filled(DeviceBuffer& buffer, const std::vector<T>& values, cudaStream_t stream) {
  ENGINE_TRY(take(buffer, static_cast<std::int64_t>(values.size() * sizeof(T))));
  return copy_to_device<T>(buffer.data(), values, stream);
}

}  // namespace

Result<StepArrays> StepArrays::create(const StepConfig& config, cudaStream_t stream) {
  const std::int64_t groups = config.num_groups;
  const auto count = static_cast<std::size_t>(groups);
  StepArrays made;
  ENGINE_TRY(take_filled(made.splits, std::vector<std::int64_t>(count, 0), stream));
  ENGINE_TRY(take(made.row_offsets, 8 * (groups + 1)));
  ENGINE_TRY(take(made.padded_offsets, 8 * (groups + 1)));
  ENGINE_TRY(take(made.rows, 4 * groups));
  ENGINE_TRY(take(made.padded_rows, 4 * groups));
  ENGINE_TRY(take_filled(made.error_word, std::vector<std::uint32_t>{0}, stream));
  std::vector<std::int64_t> weight_offsets(count + 1);
  for (std::size_t g = 0; g <= count; ++g) {
    weight_offsets[g] = static_cast<std::int64_t>(g) * config.n;
  }
  ENGINE_TRY(take_filled(made.weight_offsets, weight_offsets, stream));
  ENGINE_TRY(take_filled(
      made.n_dims, std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.n)), stream));
  ENGINE_TRY(take_filled(
      made.k_dims, std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.k)), stream));
  ENGINE_TRY(take_filled(made.scalars, std::vector<float>{0.0F, 1.0F}, stream));
  ENGINE_TRY(take_filled(made.keep_weights, std::vector<float>{0.0F}, stream));
  if (config.scalars_a_group) {
    ENGINE_TRY(
        take_filled(made.zero_pointers, std::vector<const float*>(count, made.zero()), stream));
    ENGINE_TRY(
        take_filled(made.one_pointers, std::vector<const float*>(count, made.one()), stream));
  }
  return made;
}

}  // namespace engine
