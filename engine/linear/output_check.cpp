// Poison, checksum, compare.
#include "engine/linear/output_check.h"

#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

constexpr int kPoison = 0xFF;  // 0xFFFF is a BF16 NaN

std::size_t checksum_count(const StepConfig& config) {
  return static_cast<std::size_t>(config.layers) * static_cast<std::size_t>(config.num_groups);
}

}  // namespace

Result<OutputCheck> OutputCheck::create(const GroupedStep& step) {
  OutputCheck check;
  Result<DeviceBuffer> sums = DeviceBuffer::allocate(
      static_cast<std::int64_t>(checksum_count(step.config()) * sizeof(std::uint64_t)));
  if (!sums.ok()) return sums.error();
  check.sums_ = std::move(sums).value();
  return check;
}

Status OutputCheck::poison(const GroupedStep& step, cudaStream_t stream) const {
  for (const LayerBuffers& layer : step.buffers().layers) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(layer.output.data(), kPoison, layer.output.bytes(), stream),
                    "Poisoning an output");
  }
  return {};
}

Result<std::vector<std::uint64_t>> OutputCheck::checksums(const GroupedStep& step,
                                                          cudaStream_t stream) const {
  const StepConfig& config = step.config();
  ENGINE_CUDA_TRY(cudaMemsetAsync(sums_.data(), 0, sums_.bytes(), stream), "Clearing checksums");
  std::uint64_t* target = sums_.as<std::uint64_t>();
  for (const LayerBuffers& layer : step.buffers().layers) {
    ENGINE_CUDA_TRY(
        kernels::group_checksum({.values = layer.output.data(),
                                 .row_offsets = step.buffers().row_offsets.as<std::int64_t>(),
                                 .num_groups = config.num_groups,
                                 .capacity_rows = config.capacity_rows,
                                 .columns = config.n,
                                 .checksums = target},
                                stream),
        "Launching the checksum kernel");
    target += config.num_groups;
  }
  std::vector<std::uint64_t> sums(checksum_count(config));
  ENGINE_TRY(copy_to_host(std::span<std::uint64_t>(sums), sums_.data(), stream));
  return sums;
}

std::vector<ReplayCheck> compare_checksums(int replay, const std::vector<std::uint64_t>& expected,
                                           const std::vector<std::uint64_t>& got, int num_groups) {
  std::vector<ReplayCheck> checks;
  const auto groups = static_cast<std::size_t>(num_groups);
  for (std::size_t first = 0; first < expected.size(); first += groups) {
    ReplayCheck& check = checks.emplace_back();
    check.replay = replay;
    check.layer = static_cast<int>(first / groups);
    for (std::size_t group = 0; group < groups; ++group) {
      if (expected[first + group] != got[first + group]) {
        check.wrong_experts.push_back(static_cast<int>(group));
      }
    }
  }
  return checks;
}

}  // namespace engine
