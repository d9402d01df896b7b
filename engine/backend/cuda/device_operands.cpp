// Upload in row chunks through two pinned buffers: all host threads fill one while the other is
// being copied.
#include "engine/backend/cuda/device_operands.h"

#include <algorithm>
#include <utility>

#include "kernels/common/types.h"

namespace engine {
namespace {

constexpr std::int64_t kStagingBytes = std::int64_t{32} << 20;
// Rows one thread fills at a time: enough to amortize scheduling, few enough to share.
constexpr std::int64_t kPieceElements = std::int64_t{1} << 16;

void fill(const TensorSource& source, ElementType type, std::int64_t first_row, std::int64_t count,
          std::uint16_t* out) {
  const std::int64_t columns = source.columns();
  const std::int64_t piece_rows = std::max<std::int64_t>(kPieceElements / columns, 1);
  const std::int64_t pieces = kernels::ceil_div(count, piece_rows);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t row = piece * piece_rows;
    const std::int64_t rows = std::min(piece_rows, count - row);
    const std::span<std::uint16_t> target(out + row * columns,
                                          static_cast<std::size_t>(rows * columns));
    if (type == ElementType::Fp16) {
      source.read_fp16(first_row + row, rows, target);
    } else {
      source.read_bf16(first_row + row, rows, target);
    }
  }
}

}  // namespace

DeviceOperandKey device_operand_key(const RunRequest& request, OperandRole role, int layer,
                                    int expert) {
  const bool weights = role == OperandRole::Weights;
  DeviceOperandKey key{
      .input = input_of(request, role),
      .role = role,
      .layer = weights ? layer : 0,  // all layers read the same X and dY
      .expert = expert,
      .rows = weights ? request.shape.num_experts * request.shape.n : request.shape.rows,
      .columns = role == OperandRole::Gradients ? request.shape.n : request.shape.k,
      .type = request.recipe.high_precision,
      .seed = request.seed};
  if (expert != kAllExperts) key.rows = request.shape.n;
  if (std::holds_alternative<FileInput>(key.input)) {
    key.layer = 0;
    key.seed = 0;
    key.file = file_stamp(key.input);
  }
  return key;
}

std::vector<DeviceOperandKey> device_operand_keys(const RunRequest& request,
                                                  const MadeOperands& made) {
  std::vector<DeviceOperandKey> keys;
  if (!made.activations) {
    keys.push_back(device_operand_key(request, OperandRole::Activations, 0));
  }
  if (request.products.passes != StepPasses::Forward && !made.gradients) {
    keys.push_back(device_operand_key(request, OperandRole::Gradients, 0));
  }
  const bool list = request.products.weight_storage == WeightStorage::List;
  for (int layer = 0; layer < request.layers; ++layer) {
    if (!list) keys.push_back(device_operand_key(request, OperandRole::Weights, layer));
    for (int expert = 0; list && expert < request.shape.num_experts; ++expert) {
      keys.push_back(device_operand_key(request, OperandRole::Weights, layer, expert));
    }
  }
  return keys;
}

std::int64_t DeviceOperands::keep_only(const std::vector<DeviceOperandKey>& keys) {
  std::erase_if(operands_, [&](const std::unique_ptr<Operand>& operand) {
    return std::find(keys.begin(), keys.end(), operand->key) == keys.end();
  });
  std::vector<DeviceOperandKey> missing;
  for (const DeviceOperandKey& key : keys) {
    const bool here = std::any_of(operands_.begin(), operands_.end(),
                                  [&](const auto& operand) { return operand->key == key; });
    if (!here && std::find(missing.begin(), missing.end(), key) == missing.end()) {
      missing.push_back(key);
    }
  }
  std::int64_t bytes = 0;
  for (const DeviceOperandKey& key : missing) bytes += key.bytes();
  return bytes;
}

Result<const DeviceOperands::Operand*> DeviceOperands::get(const RunRequest& request,
                                                           const DeviceOperandKey& key,
                                                           cudaStream_t stream,
                                                           const RunProgress& progress) {
  for (const auto& operand : operands_) {
    if (operand->key == key) return static_cast<const Operand*>(operand.get());
  }
  ENGINE_ASSIGN(const std::unique_ptr<TensorSource> source,
                open_source(request, key.role, key.layer));
  // Who asks for an operand names it, by a scope: "X" here may be "A" there.
  ENGINE_ASSIGN(DeviceBuffer values,
                DeviceBuffer::allocate(key.bytes(), {AllocationRole::Input, {}}));
  auto operand = std::make_unique<Operand>();
  operand->key = key;
  operand->values = std::move(values);
  operand->element = source->element();
  ENGINE_TRY(upload(*source, *operand, stream, progress));
  operands_.push_back(std::move(operand));
  return static_cast<const Operand*>(operands_.back().get());
}

Status DeviceOperands::upload(const TensorSource& source, Operand& operand, cudaStream_t stream,
                              const RunProgress& progress) {
  const std::int64_t rows = operand.key.rows;
  // One expert's weights are at its offset in the whole tensor.
  const std::int64_t first_row = operand.key.expert == kAllExperts ? 0 : operand.key.expert * rows;
  const std::int64_t row_bytes = 2 * source.columns();
  // A row of the longest legal width is as large as the staging buffer.
  const std::int64_t chunk_rows = std::max<std::int64_t>(kStagingBytes / row_bytes, 1);
  for (int slot = 0; slot < 2; ++slot) {
    if (copied_[slot]) continue;
    const AllocationScope nobodys({});  // the next operand is staged here too
    ENGINE_ASSIGN(PinnedBuffer staging,
                  PinnedBuffer::allocate(kStagingBytes, {AllocationRole::Check, "upload staging"}));
    ENGINE_ASSIGN(Event copied, make_timing_event());
    staging_[slot] = std::move(staging);
    copied_[slot] = std::move(copied);
  }
  int slot = 0;
  for (std::int64_t first = 0; first < rows; first += chunk_rows, slot ^= 1) {
    if (progress.cancel.load()) {
      // The other chunk may still be reading its staging buffer and writing a target that is freed
      // now.
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Uploading an operand");
      return Error{ErrorCode::Cancelled, "The run was cancelled while its operands were uploaded"};
    }
    const std::int64_t count = std::min(chunk_rows, rows - first);
    ENGINE_CUDA_TRY(cudaEventSynchronize(copied_[slot].get()), "Uploading an operand");
    fill(source, operand.key.type, first_row + first, count, staging_[slot].as<std::uint16_t>());
    ENGINE_CUDA_TRY(
        cudaMemcpyAsync(operand.values.data() + first * row_bytes, staging_[slot].as<std::byte>(),
                        static_cast<std::size_t>(count * row_bytes), cudaMemcpyHostToDevice,
                        stream),
        "Uploading an operand");
    ENGINE_CUDA_TRY(cudaEventRecord(copied_[slot].get(), stream), "Uploading an operand");
  }
  return check_cuda(cudaStreamSynchronize(stream), "Uploading an operand");
}

}  // namespace engine
