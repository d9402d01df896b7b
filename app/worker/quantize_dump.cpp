#include "app/worker/quantize_dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <system_error>

#include "app/protocol/request_json.h"
#include "app/protocol/wire.h"
#include "app/worker/npy_writer.h"
#include "engine/input/routing.h"
#include "engine/input/tensor_source.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace app {
namespace {

using engine::OperandRole;
using kernels::ceil_div;
using kernels::kBlock;
using kernels::round_up;

/// The operand as the kernels take it.
struct Operand {
  std::vector<std::int64_t> splits;
  std::vector<std::int64_t> row_offsets;  // [groups + 1]
  std::vector<std::uint16_t> bf16;        // one of the two holds [rows, columns]
  std::vector<float> f32;
  kernels::GroupedInput input;
};

struct Quantized {
  std::vector<std::uint8_t> codes;  // [rows, columns]
  std::vector<float> scale_inv;     // [scale_shape]
  std::vector<float> amax;          // [scale_shape]
  std::vector<std::int64_t> scale_shape;
  std::string layout;  // what one scale covers, for the manifest
};

engine::Result<Operand> load(const QuantizeOrder& order) {
  engine::Result<engine::GroupedShape> shape = engine::resolve_shape(order.request);
  if (!shape.ok()) return shape.error();
  engine::Result<std::unique_ptr<engine::TensorSource>> opened =
      engine::open_source(order.request, order.operand, /*layer=*/0);
  if (!opened.ok()) return opened.error();
  const engine::TensorSource& source = *opened.value();

  Operand operand;
  operand.splits = shape.value().splits;
  if (order.operand == OperandRole::Weights) {
    operand.splits.assign(operand.splits.size(), order.request.shape.n);
  }
  operand.row_offsets.assign(operand.splits.size() + 1, 0);
  std::partial_sum(operand.splits.begin(), operand.splits.end(), operand.row_offsets.begin() + 1);
  const std::int64_t rows = operand.row_offsets.back();
  const auto elements = static_cast<std::size_t>(rows * source.columns());
  // FP16 values go in as FP32: no FP16 magnitude is small enough for the two to scale differently.
  const bool as_bf16 = source.element() == engine::ElementType::Bf16;
  if (as_bf16) {
    operand.bf16.resize(elements);
    source.read_bf16(0, rows, operand.bf16);
  } else {
    operand.f32.resize(elements);
    source.read_f32(0, rows, operand.f32);
  }
  operand.input = {.input = as_bf16 ? static_cast<const void*>(operand.bf16.data())
                                    : static_cast<const void*>(operand.f32.data()),
                   .type = as_bf16 ? kernels::InputType::Bf16 : kernels::InputType::Fp32,
                   .row_offsets = operand.row_offsets.data(),
                   .num_groups = static_cast<int>(operand.splits.size()),
                   .capacity_rows = rows,
                   .columns = source.columns()};
  return operand;  // moving it keeps the heap blocks that `input` points at
}

Quantized quantize_per_tensor(const Operand& operand, kernels::Fp8Format format,
                              const kernels::ScaleOptions& options) {
  const auto groups = operand.splits.size();
  Quantized out;
  out.amax.resize(groups);
  out.scale_inv.resize(groups);
  out.scale_shape = {static_cast<std::int64_t>(groups)};
  out.layout = "one scale per expert";
  out.codes.resize(static_cast<std::size_t>(operand.input.capacity_rows * operand.input.columns));
  std::vector<float> scale(groups);
  kernels::group_amax_cpu({.input = operand.input, .amax = out.amax.data()});
  kernels::per_tensor_scale_cpu({.amax = out.amax.data(),
                                 .num_groups = operand.input.num_groups,
                                 .format = format,
                                 .options = options,
                                 .scale = scale.data(),
                                 .scale_inv = out.scale_inv.data()});
  kernels::quantize_per_tensor_cpu({.input = operand.input,
                                    .format = format,
                                    .scale = scale.data(),
                                    .rowwise = out.codes.data()});
  return out;
}

/// Copies scales out of the matmul's padded layout (quantize_block.h) into the order of the blocks.
std::vector<float> unpad_1x128(const Operand& operand, const std::vector<float>& padded) {
  const std::int64_t blocks = ceil_div(operand.input.columns, kBlock);
  std::vector<float> plain;
  std::int64_t group_start = 0;
  for (const std::int64_t rows : operand.splits) {
    const std::int64_t pitch = round_up(rows, 4);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t bx = 0; bx < blocks; ++bx) {
        plain.push_back(padded[static_cast<std::size_t>(group_start + bx * pitch + row)]);
      }
    }
    group_start += blocks * pitch;
  }
  return plain;
}

std::vector<float> unpad_128x128(const Operand& operand, const std::vector<float>& padded) {
  const std::int64_t blocks = ceil_div(operand.input.columns, kBlock);
  const std::int64_t pitch = round_up(blocks, 4);
  std::vector<float> plain;
  std::int64_t first_row = 0;
  for (const std::int64_t rows : operand.splits) {
    const std::int64_t block_rows = ceil_div(rows, kBlock);
    for (std::int64_t by = first_row; by < first_row + block_rows; ++by) {
      for (std::int64_t bx = 0; bx < blocks; ++bx) {
        plain.push_back(padded[static_cast<std::size_t>(by * pitch + bx)]);
      }
    }
    first_row += block_rows;
  }
  return plain;
}

Quantized quantize_blocks(const Operand& operand, OperandRole role, kernels::Fp8Format format,
                          const kernels::ScaleOptions& options) {
  const kernels::GroupedInput& input = operand.input;
  const bool square = role == OperandRole::Weights;
  const auto capacity =
      static_cast<std::size_t>(square ? kernels::block_128x128_scale_capacity(
                                            input.capacity_rows, input.num_groups, input.columns)
                                      : kernels::block_1x128_scale_capacity(
                                            input.capacity_rows, input.num_groups, input.columns));
  std::vector<float> scale_inv(capacity);
  std::vector<float> amax(capacity);
  Quantized out;
  out.codes.resize(static_cast<std::size_t>(input.capacity_rows * input.columns));
  const kernels::QuantizeBlockArgs args{
      .input = input,
      .format = format,
      .options = options,
      .rowwise = {
          .codes = out.codes.data(), .scale_inv = scale_inv.data(), .block_amax = amax.data()}};
  square ? kernels::quantize_block_128x128_cpu(args) : kernels::quantize_block_1x128_cpu(args);
  const auto unpad = square ? unpad_128x128 : unpad_1x128;
  out.scale_inv = unpad(operand, scale_inv);
  out.amax = unpad(operand, amax);
  const std::int64_t blocks = ceil_div(input.columns, kBlock);
  out.scale_shape = {static_cast<std::int64_t>(out.scale_inv.size()) / blocks, blocks};
  out.layout = square ? "one scale per 128x128 block, block rows of the experts one after another"
                      : "one scale per row and 128 columns";
  return out;
}

engine::Status write_manifest(const std::string& path, const QuantizeOrder& order,
                              kernels::Fp8Format format, const Operand& operand,
                              const Quantized& quantized) {
  nlohmann::ordered_json manifest;
  manifest["program"] = fmt::format("expertscope {}", kProgramVersion);
  manifest["operand"] = order.operand == OperandRole::Weights ? "weights" : "activations";
  manifest["format"] = format == kernels::Fp8Format::E4m3 ? "E4M3" : "E5M2";
  manifest["decode"] = "value = code as FP8 * scale_inv of its expert or block";
  manifest["scale_layout"] = quantized.layout;
  manifest["files"] = {
      {"codes.npy",
       {{"dtype", "uint8"}, {"shape", {operand.input.capacity_rows, operand.input.columns}}}},
      {"scale_inv.npy", {{"dtype", "float32"}, {"shape", quantized.scale_shape}}},
      {"amax.npy",
       {{"dtype", "float32"}, {"shape", quantized.scale_shape}, {"note", "before epsilon"}}},
      {"splits.npy", {{"dtype", "int64"}, {"shape", {operand.splits.size()}}, {"note", "rows"}}}};
  manifest["request"] = nlohmann::ordered_json::parse(request_to_json(order.request));
  std::ofstream file(path, std::ios::trunc);
  file << manifest.dump(2) << '\n';
  file.close();
  if (!file) return engine::Error{engine::ErrorCode::Io, fmt::format("cannot write '{}'", path)};
  return {};
}

}  // namespace

engine::Result<std::vector<std::string>> dump_quantized(const QuantizeOrder& order) {
  if (engine::Status limits = engine::validate(order.request); !limits.ok()) {
    return limits.error();
  }
  const engine::Recipe& recipe = order.request.recipe;
  if (recipe.scaling == engine::Scaling::None) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         "BF16 quantizes nothing; choose an FP8 recipe"};
  }
  std::error_code error;
  std::filesystem::create_directories(order.folder, error);
  if (error || order.folder.empty()) {
    return engine::Error{engine::ErrorCode::Io, fmt::format("cannot make the folder '{}': {}",
                                                            order.folder, error.message())};
  }
  const engine::Result<Operand> loaded = load(order);
  if (!loaded.ok()) return loaded.error();
  const Operand& operand = loaded.value();

  const kernels::Fp8Format format =
      order.operand == OperandRole::Weights ? kernels::Fp8Format::E4m3 : recipe.activation_format;
  const kernels::ScaleOptions options{.pow2 = recipe.pow2_scales,
                                      .amax_epsilon = recipe.amax_epsilon};
  const Quantized quantized = recipe.scaling == engine::Scaling::Block
                                  ? quantize_blocks(operand, order.operand, format, options)
                                  : quantize_per_tensor(operand, format, options);

  const auto path = [&](const char* name) { return order.folder + "/" + name; };
  std::vector<std::string> files = {path("codes.npy"), path("scale_inv.npy"), path("amax.npy"),
                                    path("splits.npy"), path("manifest.json")};
  for (engine::Status status :
       {write_npy(files[0], "|u1", {operand.input.capacity_rows, operand.input.columns},
                  std::as_bytes(std::span(quantized.codes))),
        write_npy(files[1], "<f4", quantized.scale_shape,
                  std::as_bytes(std::span(quantized.scale_inv))),
        write_npy(files[2], "<f4", quantized.scale_shape, std::as_bytes(std::span(quantized.amax))),
        write_npy(files[3], "<i8", {static_cast<std::int64_t>(operand.splits.size())},
                  std::as_bytes(std::span(operand.splits))),
        write_manifest(files[4], order, format, operand, quantized)}) {
    if (!status.ok()) return status.error();
  }
  return files;
}

}  // namespace app
