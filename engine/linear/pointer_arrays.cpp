#include "engine/linear/pointer_arrays.h"

#include <algorithm>
#include <utility>

namespace engine {
namespace {

constexpr std::int64_t kArrayAlignment = 16;  // cuBLASLt's demand

std::int64_t array_bytes(const StepConfig& config) {
  return kernels::round_up(std::int64_t{sizeof(void*)} * config.num_groups, kArrayAlignment);
}

}  // namespace

Result<PointerArrays> PointerArrays::create(const StepConfig& config, const StepArrays& arrays) {
  PointerArrays made;
  made.config_ = config;
  Result<DeviceBuffer> pool =
      DeviceBuffer::allocate(array_bytes(config) * kProductArrays * (config.products() + 1),
                             {AllocationRole::PointerArray, "pointer arrays"});
  if (!pool.ok()) return pool.error();
  made.pool_ = std::move(pool).value();
  kernels::SplitsToOffsetsArgs& offsets = made.offsets_;
  offsets.splits = arrays.splits.data();
  offsets.split_type =
      config.int32_splits ? kernels::IntegerType::Int32 : kernels::IntegerType::Int64;
  offsets.num_groups = config.num_groups;
  offsets.capacity_rows = config.capacity_rows;
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
  made.before_.resize(static_cast<std::size_t>(config.products()));
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
    plan(shared ? before_[static_cast<std::size_t>(product)] : head_, rule);
    return target;
  }
  const std::vector<std::int64_t> no_rows(static_cast<std::size_t>(config_.num_groups), 0);
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

Status PointerArrays::launch_before(int product, kernels::LaunchStream stream) const {
  for (const kernels::SplitsToOffsetsArgs& args : before_[static_cast<std::size_t>(product)]) {
    ENGINE_CUDA_TRY(kernels::splits_to_offsets(args, stream), "Launching the set-up kernel");
  }
  return {};
}

int PointerArrays::launches() const {
  std::size_t count = head_.size();
  for (const auto& before : before_) count += before.size();
  return static_cast<int>(count);
}

}  // namespace engine
