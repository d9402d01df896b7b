// Poison, checksum, compare.
#include "engine/linear/output_check.h"

#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

constexpr int kPoison = 0xFF;  // 0xFFFF is a NaN of BF16 and FP16, 0xFFFFFFFF one of FP32

}  // namespace

Result<OutputCheck> OutputCheck::create(const DeviceStep& step) {
  OutputCheck check;
  const std::size_t count = step.all_outputs().size() * static_cast<std::size_t>(step.num_groups());
  ENGINE_ASSIGN(check.sums_,
                DeviceBuffer::allocate(static_cast<std::int64_t>(count * sizeof(std::uint64_t)),
                                       {AllocationRole::Check, "checksums"}));
  return check;
}

Status OutputCheck::poison(const DeviceStep& step, cudaStream_t stream) const {
  for (const StepOutput& output : step.all_outputs()) {
    const auto bytes = static_cast<std::size_t>(output.capacity_rows * output.columns *
                                                element_bytes(output.type));
    ENGINE_CUDA_TRY(cudaMemsetAsync(output.values, output.added_to ? 0 : kPoison, bytes, stream),
                    "Poisoning an output");
  }
  return {};
}

Result<std::vector<std::uint64_t>> OutputCheck::checksums(const DeviceStep& step,
                                                          cudaStream_t stream) const {
  const int groups = step.num_groups();
  const std::vector<StepOutput> outputs = step.all_outputs();
  ENGINE_CUDA_TRY(cudaMemsetAsync(sums_.data(), 0, sums_.bytes(), stream), "Clearing checksums");
  std::uint64_t* target = sums_.as<std::uint64_t>();
  for (const StepOutput& output : outputs) {
    // Wider elements are read as two halves.
    const std::int64_t halves = element_bytes(output.type) / 2;
    ENGINE_CUDA_TRY(kernels::group_checksum({.values = output.values,
                                             .row_offsets = output.row_offsets,
                                             .num_groups = groups,
                                             .capacity_rows = output.capacity_rows,
                                             .columns = output.columns * halves,
                                             .checksums = target},
                                            stream),
                    "Launching the checksum kernel");
    target += groups;
  }
  std::vector<std::uint64_t> sums(outputs.size() * static_cast<std::size_t>(groups));
  ENGINE_TRY(copy_to_host(std::span<std::uint64_t>(sums), sums_.data(), stream));
  return sums;
}

std::vector<ReplayCheck> compare_checksums(int replay, const std::vector<StepOutput>& outputs,
                                           const std::vector<std::uint64_t>& expected,
                                           const std::vector<std::uint64_t>& got) {
  std::vector<ReplayCheck> checks;
  const std::size_t groups = outputs.empty() ? 0 : expected.size() / outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ReplayCheck& check = checks.emplace_back();
    check.replay = replay;
    check.layer = outputs[i].layer;
    check.product = outputs[i].product;
    check.micro_batch = outputs[i].micro_batch;
    for (std::size_t group = 0; group < groups; ++group) {
      if (expected[i * groups + group] != got[i * groups + group]) {
        check.wrong_experts.push_back(static_cast<int>(group));
      }
    }
  }
  return checks;
}

}  // namespace engine
