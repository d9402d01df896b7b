// Poison, checksum, compare.
#include "engine/linear/output_check.h"

#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

constexpr int kPoison = 0xFF;  // 0xFFFF is a NaN of BF16 and FP16, 0xFFFFFFFF one of FP32

}  // namespace

std::vector<StepOutput> step_outputs(const GroupedStep& step) {
  const StepConfig& config = step.config();
  const auto* rows = step.arrays().row_offsets.as<std::int64_t>();
  std::vector<StepOutput> outputs;
  for (int layer = 0; config.forward() && layer < config.layers; ++layer) {
    outputs.push_back({.product = Product::Fprop,
                       .layer = layer,
                       .values = step.outputs(layer).y,
                       .type = config.output_type(),
                       .row_offsets = rows,
                       .capacity_rows = config.capacity_rows,
                       .columns = config.n});
  }
  for (int layer = 0; config.backward() && layer < config.layers; ++layer) {
    outputs.push_back({.product = Product::Dgrad,
                       .layer = layer,
                       .values = step.outputs(layer).dx,
                       .type = config.output_type(),
                       .row_offsets = rows,
                       .capacity_rows = config.capacity_rows,
                       .columns = config.k});
    outputs.push_back({.product = Product::Wgrad,
                       .layer = layer,
                       .values = step.outputs(layer).dw,
                       .type = config.wgrad_type(),
                       .row_offsets = step.arrays().weight_offsets.as<std::int64_t>(),
                       .capacity_rows = config.weight_rows(),
                       .columns = config.k});
  }
  return outputs;
}

Result<OutputCheck> OutputCheck::create(const GroupedStep& step) {
  OutputCheck check;
  const std::size_t count =
      step_outputs(step).size() * static_cast<std::size_t>(step.config().num_groups);
  ENGINE_ASSIGN(check.sums_,
                DeviceBuffer::allocate(static_cast<std::int64_t>(count * sizeof(std::uint64_t)),
                                       {AllocationRole::Check, "checksums"}));
  return check;
}

Status OutputCheck::poison(const GroupedStep& step, cudaStream_t stream) const {
  for (const StepOutput& output : step_outputs(step)) {
    const bool added_to = output.product == Product::Wgrad && step.config().linear.accumulate_wgrad;
    const auto bytes = static_cast<std::size_t>(output.capacity_rows * output.columns *
                                                element_bytes(output.type));
    ENGINE_CUDA_TRY(cudaMemsetAsync(output.values, added_to ? 0 : kPoison, bytes, stream),
                    "Poisoning an output");
  }
  return {};
}

Result<std::vector<std::uint64_t>> OutputCheck::checksums(const GroupedStep& step,
                                                          cudaStream_t stream) const {
  const int groups = step.config().num_groups;
  const std::vector<StepOutput> outputs = step_outputs(step);
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
    for (std::size_t group = 0; group < groups; ++group) {
      if (expected[i * groups + group] != got[i * groups + group]) {
        check.wrong_experts.push_back(static_cast<int>(group));
      }
    }
  }
  return checks;
}

}  // namespace engine
