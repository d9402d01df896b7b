#include "profiling/hazards/gallery/grouped_program.h"

#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "engine/device/check.h"
#include "kernels/diagnostics/statistics.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Result;
using engine::Status;

/// BF16 values of seven bits, so that each is exact and they vary in sign and magnitude.
std::vector<std::uint16_t> some_values(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values) {
    seed = seed * 1664525U + 1013904223U;
    const int step = static_cast<int>((seed >> 16) % 127) + 1;
    const float magnitude = static_cast<float>(step) / 64.0F;
    const float number = (seed >> 31) == 0 ? magnitude : -magnitude;
    value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
  }
  return values;
}

}  // namespace

std::string GroupedProgram::title() const {
  return subject_title({.id = case_id_, .healthy = healthy_});
}

std::vector<SubjectOutput> GroupedProgram::outputs() const {
  std::vector<SubjectOutput> outputs;
  for (const Checked& checked : checked_) {
    outputs.push_back({.name = checked.name, .parts = checked.whole ? 1 : kGroups});
  }
  return outputs;
}

Status GroupedProgram::set_inputs(bool changed, cudaStream_t /*stream*/) {
  if (!changed) return {};
  return engine::Error{engine::ErrorCode::Unsupported,
                       "This program of the gallery has only one set of inputs"};
}

Status GroupedProgram::reset(cudaStream_t stream) {
  for (const Checked& checked : checked_) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(checked.values, checked.fill, kActivationBytes, stream),
                    "Poisoning an output");
  }
  return {};
}

Result<std::vector<std::uint64_t>> GroupedProgram::checksums(cudaStream_t stream) {
  ENGINE_CUDA_TRY(cudaMemsetAsync(sums_.data(), 0, sums_.bytes(), stream), "Clearing checksums");
  auto* next = sums_.as<std::uint64_t>();
  for (const Checked& checked : checked_) {
    const DeviceBuffer& rows = checked.whole ? whole_offsets_ : row_offsets_;
    const int parts = checked.whole ? 1 : kGroups;
    ENGINE_CUDA_TRY(kernels::group_checksum({.values = checked.values,
                                             .row_offsets = rows.as<std::int64_t>(),
                                             .num_groups = parts,
                                             .capacity_rows = kRows,
                                             .columns = kColumns,
                                             .checksums = next},
                                            stream),
                    "Launching the checksum kernel");
    next += parts;
  }
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(next - sums_.as<std::uint64_t>()));
  ENGINE_TRY(engine::copy_to_host(std::span<std::uint64_t>(sums), sums_.data(), stream));
  return sums;
}

Status GroupedProgram::set_up(cudaStream_t stream) {
  constexpr int kMaxOutputs = 4;
  ENGINE_TRY(allocate(x_, kActivationBytes, AllocationRole::Input, "X"));
  ENGINE_TRY(add_output(y_, "Y"));
  ENGINE_TRY(
      allocate(weights_, std::int64_t{kGroups} * kColumns * 2, AllocationRole::Input, "weights"));
  ENGINE_TRY(
      allocate(row_offsets_, std::int64_t{kGroups + 1} * 8, AllocationRole::Splits, "row offsets"));
  ENGINE_TRY(
      allocate(whole_offsets_, std::int64_t{2} * 8, AllocationRole::Check, "offsets of checks"));
  ENGINE_TRY(
      allocate(sums_, std::int64_t{kMaxOutputs} * kGroups * 8, AllocationRole::Check, "checksums"));
  ENGINE_TRY(write_values(stream));
  ENGINE_TRY(write_splits(splits(false), stream));
  return prepare(stream);
}

Status GroupedProgram::write_values(cudaStream_t stream) {
  const std::vector<std::uint16_t> x = some_values(kRows * kColumns, 1);
  const std::vector<std::uint16_t> weights = some_values(std::size_t{kGroups} * kColumns, 2);
  const std::array<std::int64_t, 2> whole = {0, kRows};
  ENGINE_TRY(engine::copy_to_device(x_.data(), std::span<const std::uint16_t>(x), stream));
  ENGINE_TRY(
      engine::copy_to_device(weights_.data(), std::span<const std::uint16_t>(weights), stream));
  return engine::copy_to_device(whole_offsets_.data(), std::span<const std::int64_t>(whole),
                                stream);
}

GroupedProgram::Splits GroupedProgram::splits(bool changed) {
  if (changed) return {32, 320, 96, 64, 256, 0, 128, 128};
  return {160, 64, 128, 96, 192, 128, 64, 192};
}

Status GroupedProgram::write_splits(const Splits& splits, cudaStream_t stream) {
  std::array<std::int64_t, kGroups + 1> offsets = {};
  std::inclusive_scan(splits.begin(), splits.end(), offsets.begin() + 1);
  return engine::copy_to_device(row_offsets_.data(), std::span<const std::int64_t>(offsets),
                                stream);
}

kernels::GroupedScaleArgs GroupedProgram::scale(const void* x, void* y) const {
  return {.x = x,
          .y = y,
          .weights = weights_.data(),
          .row_offsets = row_offsets_.as<std::int64_t>(),
          .num_groups = kGroups,
          .columns = kColumns,
          .tiles_per_group = kTiles};
}

Status GroupedProgram::make_other_values(const DeviceBuffer& to, cudaStream_t stream) const {
  constexpr float kOtherScale = 3.0F;
  kernels::GroupedScaleArgs other = scale(x(), to.data());
  other.scale = kOtherScale;
  return engine::check_cuda(kernels::grouped_scale(other, stream), "Making another X");
}

Status GroupedProgram::add_output(DeviceBuffer& buffer, const std::string& name) {
  ENGINE_TRY(allocate(buffer, kActivationBytes, AllocationRole::Output, name));
  check(name, buffer.data());
  return {};
}

void GroupedProgram::check(const std::string& name, void* values, bool whole, int fill) {
  checked_.push_back({.name = name, .values = values, .whole = whole, .fill = fill});
}

void GroupedProgram::move_output(const std::string& name, void* values) {
  for (Checked& checked : checked_) {
    if (checked.name == name) checked.values = values;
  }
}

Result<bool> GroupedProgram::is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ENGINE_CUDA_TRY(cudaStreamIsCapturing(stream, &status), "Querying the capture status");
  return status == cudaStreamCaptureStatusActive;
}

}  // namespace profiling
