#include "engine/linear/step_arrays.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace engine {

namespace {

Status take(DeviceBuffer& buffer, std::int64_t bytes, AllocationLabel label) {
  ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(bytes, std::move(label)));
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
  const std::int64_t groups = config.num_groups();
  const auto count = static_cast<std::size_t>(groups);
  StepArrays made;
  ENGINE_TRY(take_filled(
      made.splits,
      std::vector<std::uint8_t>(count * static_cast<std::size_t>(config.split_bytes()), 0),
      {AllocationRole::Splits, "splits"}, stream));
  ENGINE_TRY(take(made.row_offsets, 8 * (groups + 1), {AllocationRole::Splits, "row offsets"}));
  ENGINE_TRY(
      take(made.padded_offsets, 8 * (groups + 1), {AllocationRole::Splits, "padded offsets"}));
  ENGINE_TRY(take(made.rows, 4 * groups, {AllocationRole::Splits, "rows per expert"}));
  ENGINE_TRY(
      take(made.padded_rows, 4 * groups, {AllocationRole::Splits, "padded rows per expert"}));
  ENGINE_TRY(take_filled(made.error_word, std::vector<std::uint32_t>{0},
                         {AllocationRole::Check, "error word"}, stream));
  std::vector<std::int64_t> weight_offsets(count + 1);
  for (std::size_t g = 0; g <= count; ++g) {
    weight_offsets[g] = static_cast<std::int64_t>(g) * config.n();
  }
  ENGINE_TRY(take_filled(made.weight_offsets, weight_offsets,
                         {AllocationRole::Splits, "weight offsets"}, stream));
  ENGINE_TRY(take_filled(made.n_dims,
                         std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.n())),
                         {AllocationRole::Splits, "n of every expert"}, stream));
  ENGINE_TRY(take_filled(made.k_dims,
                         std::vector<std::int32_t>(count, static_cast<std::int32_t>(config.k())),
                         {AllocationRole::Splits, "k of every expert"}, stream));
  ENGINE_TRY(take_filled(made.scalars, std::vector<float>{0.0F, 1.0F},
                         {AllocationRole::Input, "alpha and beta"}, stream));
  ENGINE_TRY(take_filled(made.keep_weights, std::vector<float>{0.0F},
                         {AllocationRole::Input, "keep-weights flag"}, stream));
  if (config.own_products()) {
    const auto counters = static_cast<std::size_t>(2 * config.product_count());
    ENGINE_TRY(take_filled(made.tickets, std::vector<std::uint32_t>(counters, 0),
                           {AllocationRole::Tickets, "tickets of products"}, stream));
  }
  if (config.scalars_per_group) {
    ENGINE_TRY(take_filled(made.zero_pointers, std::vector<const float*>(count, made.zero()),
                           {AllocationRole::PointerArray, "pointers to beta"}, stream));
    ENGINE_TRY(take_filled(made.one_pointers, std::vector<const float*>(count, made.one()),
                           {AllocationRole::PointerArray, "pointers to alpha"}, stream));
  }
  return made;
}

std::vector<void*> resolve(const GroupAddresses& addresses, std::span<const std::int64_t> splits) {
  if (!addresses.listed.empty()) return addresses.listed;
  std::vector<void*> pointers;
  pointers.reserve(splits.size());
  std::byte* next = addresses.rule.base;
  for (const std::int64_t rows : splits) {
    pointers.push_back(next);
    next += addresses.rule.bytes_per_group +
            addresses.rule.bytes_per_unit * kernels::ceil_div(rows, addresses.rule.unit);
  }
  return pointers;
}

namespace {

constexpr std::int64_t kArrayAlignment = 16;  // required by cuBLASLt

std::int64_t array_bytes(const StepConfig& config) {
  return kernels::round_up(std::int64_t{sizeof(void*)} * config.num_groups(), kArrayAlignment);
}

}  // namespace

Result<PointerArrays> PointerArrays::create(const StepConfig& config, const StepArrays& arrays,
                                            bool apart) {
  PointerArrays made;
  made.apart_ = apart;
  made.config_ = config;
  ENGINE_ASSIGN(made.pool_, DeviceBuffer::allocate(
                                array_bytes(config) * kProductArrays * (config.product_count() + 1),
                                {AllocationRole::PointerArray, "pointer arrays"}));
  kernels::SplitsToOffsetsArgs& offsets = made.offsets_;
  offsets.splits = arrays.splits.data();
  offsets.split_type =
      config.int32_splits ? kernels::IntegerType::Int32 : kernels::IntegerType::Int64;
  offsets.num_groups = config.num_groups();
  offsets.capacity_rows = config.capacity_rows();
  offsets.row_offsets = arrays.row_offsets.as<std::int64_t>();
  offsets.rows = arrays.rows.as<std::int32_t>();
  offsets.error_word = arrays.error_word.as<std::uint32_t>();
  if (config.row_unit() > 1) {
    offsets.padded_rows = arrays.padded_rows.as<std::int32_t>();
    offsets.padded_rows_unit = config.row_unit();
    offsets.offset_arrays[0] = {.values = arrays.padded_offsets.data(),
                                .unit = config.row_unit(),
                                .stride = config.row_unit()};
    offsets.num_offset_arrays = 1;
  }
  made.head_.push_back(offsets);
  made.before_.resize(static_cast<std::size_t>(config.product_count()));
  return made;
}

void** PointerArrays::array(int product, ProductArray which) const {
  // With shared set-up all rules use the first set; lists, which nothing can fill on the device,
  // keep arrays of their own behind it.
  const std::int64_t index =
      std::int64_t{product} * kProductArrays + static_cast<std::int64_t>(which);
  return reinterpret_cast<void**>(pool_.data() + index * array_bytes(config_));
}

Result<void* const*> PointerArrays::add(int product, ProductArray which,
                                        const GroupAddresses& addresses, cudaStream_t stream) {
  const bool shared = config_.setup_arrays == SetupArrays::Shared && addresses.listed.empty();
  void** const target = array(shared ? 0 : product + 1, which);
  if (shared || !addresses.fixed()) {
    kernels::PointerArray rule = addresses.rule;
    rule.pointers = target;
    // Those of fprop come first.
    const bool later = apart_ && (!config_.forward() || product >= config_.layers);
    std::vector<kernels::SplitsToOffsetsArgs>& head = later ? backward_head_ : head_;
    plan(shared ? before_[static_cast<std::size_t>(product)] : head, rule);
    return target;
  }
  const std::vector<std::int64_t> no_rows(static_cast<std::size_t>(config_.num_groups()), 0);
  ENGINE_TRY(copy_to_device<void*>(target, resolve(addresses, no_rows), stream));
  return target;
}

void PointerArrays::plan(std::vector<kernels::SplitsToOffsetsArgs>& launches,
                         const kernels::PointerArray& pointer_array) const {
  if (launches.empty() || launches.back().num_pointer_arrays == kernels::kMaxPointerArrays) {
    launches.push_back(offsets_);
  }
  kernels::SplitsToOffsetsArgs& args = launches.back();
  args.pointer_arrays[args.num_pointer_arrays++] = pointer_array;
}

Status PointerArrays::launch_head(kernels::LaunchStream stream) const {
  for (const kernels::SplitsToOffsetsArgs& args : head_) {
    ENGINE_CUDA_TRY(kernels::splits_to_offsets(args, stream), "Launching the offsets kernel");
  }
  return {};
}

Status PointerArrays::launch_backward_head(kernels::LaunchStream stream) const {
  for (const kernels::SplitsToOffsetsArgs& args : backward_head_) {
    ENGINE_CUDA_TRY(kernels::splits_to_offsets(args, stream), "Launching the offsets kernel");
  }
  return {};
}

Status PointerArrays::launch_before(int product, kernels::LaunchStream stream) const {
  for (const kernels::SplitsToOffsetsArgs& args : before_[static_cast<std::size_t>(product)]) {
    ENGINE_CUDA_TRY(kernels::splits_to_offsets(args, stream), "Launching the set-up kernel");
  }
  return {};
}

}  // namespace engine
