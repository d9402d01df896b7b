// Quantize orders: one operand through the CPU twins, its codes, scales and amax as .npy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <system_error>

#include "app/protocol/paths.h"
#include "app/worker/handlers.h"
#include "engine/backend/cpu/machine.h"
#include "engine/input/free_output.h"
#include "engine/input/json_text.h"
#include "engine/input/routing.h"
#include "engine/input/tensor_source.h"
#include "engine/input/value_json.h"
#include "engine/model/out_of_memory.h"
#include "engine/model/path_text.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cpu.h"
#include "kernels/dequantize/widen_scales.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace app {
namespace {

using engine::OperandRole;

/// The operand in the form the kernels take.
struct Operand {
  std::vector<std::int64_t> splits;
  std::vector<std::int64_t> row_offsets;  // [groups + 1]
  std::vector<std::uint16_t> bf16;        // exactly one of these two holds [rows, columns]
  std::vector<float> f32;
  kernels::GroupedInput input;
};

/// Per element: the operand, its code and scale, and to measure errors a plain code, factor and
/// decoded value, and half a byte of sums over blocks.
engine::Status check_memory(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t wanted =
      elements * (element_bytes + 1 + 1) + elements * (1 + 4 + 4) + elements / 2;
  const std::int64_t available = engine::available_memory_bytes();
  if (available == 0 || wanted <= available) return {};
  return engine::out_of_memory("quantizing this tensor needs", wanted, available,
                               "quantize a part of its rows at a time");
}

engine::Result<Operand> load(const QuantizeOrder& order) {
  ENGINE_ASSIGN(engine::GroupedShape shape, engine::resolve_shape(order.request));
  ENGINE_ASSIGN(std::unique_ptr<engine::TensorSource> opened,
                engine::open_source(order.request, order.operand, /*layer=*/0));
  const engine::TensorSource& source = *opened;

  Operand operand;
  operand.splits = shape.splits;
  if (order.operand == OperandRole::Weights) {
    operand.splits.assign(operand.splits.size(), order.request.shape.n);
  }
  operand.row_offsets.assign(operand.splits.size() + 1, 0);
  std::partial_sum(operand.splits.begin(), operand.splits.end(), operand.row_offsets.begin() + 1);
  const std::int64_t rows = operand.row_offsets.back();
  const auto elements = static_cast<std::size_t>(rows * source.columns());
  ENGINE_TRY(check_memory(rows * source.columns(), engine::element_bytes(source.element())));
  // FP16 values are converted to FP32: no FP16 magnitude is small enough for the two to scale
  // differently.
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

/// Extracts scales or amax from the layout a matmul needs, in the order of the blocks.
template <class T>
std::vector<T> plain_order(const Operand& operand, const engine::OperandLayout& layout,
                           const T* values) {
  std::vector<T> plain;
  for (const std::int64_t rows : operand.splits) {
    const engine::ScaleGrid grid = engine::scale_grid(layout, rows, operand.input.columns);
    for (std::int64_t r = 0; r < grid.rows; ++r) {
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        plain.push_back(values[r * grid.row_stride + c * grid.column_stride]);
      }
    }
    values += grid.span;
  }
  return plain;
}

/// A C-order array as .npy, format version 1.0. `dtype` as numpy writes it: "|u1", "<f4", "<i8".
/// `bytes` holds the product of `shape` elements.
engine::Status write_npy(const std::string& path, const std::string& dtype,
                         const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes) {
  constexpr std::size_t kPrefixBytes = 10;  // magic, version, header length
  constexpr std::size_t kAlignment = 64;    // as the format recommends, for memory mapping
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   dtype, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t unpadded = kPrefixBytes + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xFF);
  prefix += static_cast<char>(header.size() >> 8);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << prefix << header;
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("cannot write '{}': {}", engine::shown_path(path),
                                     engine::path_error_text(path, errno))};
  }
  return {};
}

/// Writes the files of one folder and collects what the manifest says about them.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  template <class T>
  void array(const std::string& name, const char* npy_type, const char* type,
             std::vector<std::int64_t> shape, const std::vector<T>& values, const char* note) {
    std::span<const T> used(values);
    std::int64_t count = 1;
    for (const std::int64_t side : shape) count *= side;
    used = used.first(static_cast<std::size_t>(count));
    add(name, write_npy(path_ + "/" + name, npy_type, shape, std::as_bytes(used)));
    described_[name] = {{"dtype", type}, {"shape", shape}, {"note", note}};
  }

  void manifest(nlohmann::ordered_json manifest) {
    manifest["files"] = described_;
    const std::string path = path_ + "/manifest.json";
    std::ofstream file(path, std::ios::trunc);
    file << manifest.dump(2) << '\n';
    file.close();
    engine::Status status;
    if (!file) {
      status = engine::Error{engine::ErrorCode::Io, fmt::format("cannot write '{}'", path)};
    }
    add("manifest.json", std::move(status));
  }

  engine::Result<std::vector<std::string>> take() {
    if (!status_.ok()) return status_.error();
    return std::move(files_);
  }

 private:
  void add(const std::string& name, engine::Status status) {
    files_.push_back(path_ + "/" + name);
    if (status_.ok()) status_ = std::move(status);
  }

  std::string path_;
  std::vector<std::string> files_;
  nlohmann::ordered_json described_;
  engine::Status status_;
};

const char* code_note(const engine::OperandLayout& layout) {
  const bool columnwise = layout.direction == kernels::Direction::Columnwise;
  if (layout.e2m1()) {
    return columnwise ? "experts consecutive, each [columns, rows rounded up to 16] with two codes "
                        "per byte, the even row in the low half"
                      : "two codes per byte, the even column in the low half";
  }
  if (!columnwise) return "one code per byte";
  return layout.transposed ? "experts consecutive, each transposed: [columns, rows]"
                           : "one code per byte, not transposed";
}

std::string scale_note(const engine::OperandLayout& layout) {
  if (layout.per_tensor()) return "one scale per expert";
  const engine::ScaleGrid grid = engine::scale_grid(layout, 1, 16);
  // A line is one scale of its own, or repeats that of a square around it.
  const bool repeated = layout.square && grid.block_rows != grid.block_columns;
  return fmt::format(
      "one scale per {}x{} block (rows x columns), blocks of the experts one after "
      "another{}",
      grid.block_rows, grid.block_columns, repeated ? "; equal inside a square of blocks" : "");
}

std::string decode_note(const engine::OperandLayout& layout) {
  if (layout.fp32_scales()) return "value = code as FP8 * scale_inv of its expert or block";
  if (!layout.e2m1()) {
    return "value = code as FP8 * 2^(scale - 127) of its block; scale 255 is NaN";
  }
  const std::string value =
      "code as E2M1 * ((scale as E4M3 of its block * amax of its expert) * FP32(1 / 2688))";
  if (!layout.hadamard) return "value = " + value;
  return fmt::format(
      "y = {}; value of row i of 16 = s_i / 4 * sum over j of (-1)^popcount(i & j) * y_j, where "
      "s_i is -1 if bit i of 0x{:04X} is set",
      value, kernels::kHadamardSigns);
}

QuantizationLoss measure_loss(const Operand& operand, const engine::CpuQuantizer& quantizer) {
  const engine::OperandLayout& layout = quantizer.layout();
  engine::UnpackedOperand unpacked;
  engine::unpack_operand(quantizer.view(), unpacked);
  engine::QuantizationReport report;
  const std::vector<float>& amax = quantizer.amax();
  engine::measure_report(operand.input, layout, quantizer.view(), operand.splits, unpacked,
                         amax.empty() ? nullptr : amax.data(), report);
  return {.columnwise = layout.direction == kernels::Direction::Columnwise,
          .elements = report.statistics.elements,
          .saturated = report.statistics.saturated,
          .underflowed = report.statistics.underflowed,
          .lost = report.statistics.lost,
          .undefined = report.statistics.undefined,
          .snr_db = report.statistics.snr_db};
}

/// Which scale has no byte, and what to do.
std::string widening_refusal(const kernels::QuantizedView& view,
                             const kernels::RefusedScales& refused) {
  const kernels::RefusedScale first = kernels::first_refused(view, refused);
  const std::string place =
      view.layout == kernels::ScaleLayout::PerTensor
          ? fmt::format("expert {}", first.group)
          : fmt::format("expert {}, row {}, column {}", first.group, first.row, first.column);
  return fmt::format(
      "scale_inv {} of {} is not a power of two from 2^-127 to 2^127, which is all that MXFP8's "
      "scales can be; {} blocks of 32 are concerned; --pow2_scales true avoids it",
      first.value, place, refused.blocks);
}

/// FP8 codes with one-byte scales are MXFP8: the same codes' scales per 32 elements, or why they
/// have none.
void dump_widened(const Operand& operand, const engine::CpuQuantizer& quantizer,
                  const std::string& suffix, Folder& folder, nlohmann::ordered_json& described) {
  const kernels::QuantizedView view = quantizer.view();
  if (!kernels::can_widen(view)) return;
  const engine::OperandLayout layout{.kernel = engine::QuantizeKernel::Mxfp8,
                                     .scales = kernels::ScaleLayout::Mx1x32,
                                     .direction = view.direction,
                                     .format = view.format};
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(engine::scale_count(layout, operand.splits, operand.input.columns)));
  kernels::RefusedScales refused;
  kernels::widen_scales_cpu({.quantized = view, .scales = bytes.data(), .refused = &refused});
  if (refused.blocks > 0) {
    described["mxfp8_scales"] = {{"refused", widening_refusal(view, refused)}};
    return;
  }
  const std::vector<std::uint8_t> scales = plain_order(operand, layout, bytes.data());
  const std::int64_t across = engine::scale_grid(layout, 1, operand.input.columns).columns;
  const std::string name = "mxfp8_scales" + suffix;
  folder.array(name, "|u1", "uint8", {static_cast<std::int64_t>(scales.size()) / across, across},
               scales, "E8M0, for the same codes");
  described["mxfp8_scales"] = {
      {"file", name}, {"decode", decode_note(layout)}, {"scale_layout", scale_note(layout)}};
}

/// Quantizes in one direction and writes its arrays; their description goes into the manifest.
QuantizationLoss dump_direction(const QuantizeOrder& order, const Operand& operand,
                                kernels::Direction direction, Folder& folder,
                                nlohmann::ordered_json& manifest) {
  const engine::Recipe& recipe = order.request.recipe;
  engine::CpuQuantizer quantizer({.recipe = recipe,
                                  .role = order.operand,
                                  .direction = direction,
                                  .input = operand.input,
                                  .seed = order.request.seed});
  // A history is that of one earlier step over this same operand.
  for (int step = 0; step < engine::traits_of(recipe).warm_up_steps(); ++step) {
    quantizer.quantize();
  }

  const engine::OperandLayout& layout = quantizer.layout();
  const bool columnwise = direction == kernels::Direction::Columnwise;
  const std::string suffix = columnwise ? "_columnwise.npy" : ".npy";
  const std::int64_t rows = operand.input.capacity_rows;
  const std::int64_t columns = operand.input.columns;
  std::vector<std::int64_t> code_shape = {rows, layout.e2m1() ? columns / 2 : columns};
  if (layout.transposed) code_shape = {quantizer.written_code_bytes()};
  folder.array("codes" + suffix, "|u1", "uint8", code_shape, quantizer.codes(), code_note(layout));

  const std::int64_t block_columns = engine::scale_grid(layout, 1, columns).columns;
  const auto shape_of = [&](std::size_t count) -> std::vector<std::int64_t> {
    const auto scales = static_cast<std::int64_t>(count);
    if (layout.per_tensor()) return {scales};
    return {scales / block_columns, block_columns};
  };
  if (layout.fp32_scales()) {
    const std::vector<float> scales = plain_order(operand, layout, quantizer.fp32_scales());
    folder.array("scale_inv" + suffix, "<f4", "float32", shape_of(scales.size()), scales, "");
    const std::vector<float> amax = plain_order(operand, layout, quantizer.amax().data());
    folder.array("amax" + suffix, "<f4", "float32", shape_of(amax.size()), amax, "before epsilon");
  } else {
    const std::vector<std::uint8_t> scales =
        plain_order(operand, layout, quantizer.byte_scales().data());
    folder.array("scales" + suffix, "|u1", "uint8", shape_of(scales.size()), scales,
                 layout.e2m1() ? "E4M3" : "E8M0");
    if (layout.e2m1()) {
      folder.array("amax" + suffix, "<f4", "float32",
                   {static_cast<std::int64_t>(operand.splits.size())}, quantizer.amax(),
                   layout.hadamard ? "of the transformed elements" : "of each expert");
    }
  }
  nlohmann::ordered_json& described = manifest[columnwise ? "columnwise" : "rowwise"];
  described = {{"format", layout.e2m1() ? "e2m1" : engine::name_of(layout.format)},
               {"decode", decode_note(layout)},
               {"scale_layout", scale_note(layout)}};
  dump_widened(operand, quantizer, suffix, folder, described);
  const QuantizationLoss loss = measure_loss(operand, quantizer);
  described["loss"] = engine::to_json(loss);
  return loss;
}

}  // namespace

engine::Result<Answer> carry_out(const OrderContext& /*the backends are not used*/,
                                 const QuantizeOrder& order) {
  std::vector<kernels::Direction> directions;
  if (order.directions != QuantizeDirections::Columnwise) {
    directions.push_back(kernels::Direction::Rowwise);
  }
  if (order.directions != QuantizeDirections::Rowwise) {
    directions.push_back(kernels::Direction::Columnwise);
  }
  const std::string refusal = engine::quantize_refusal(order.request.recipe);
  if (!refusal.empty()) return engine::Error{engine::ErrorCode::InvalidArgument, refusal};
  ENGINE_TRY(engine::require_empty_folder(order.folder));
  // Before the folder is made: a refused order leaves nothing behind.
  ENGINE_ASSIGN(const Operand loaded, load(order));
  std::error_code error;
  std::filesystem::create_directories(order.folder, error);
  if (error || order.folder.empty()) {
    return engine::Error{
        engine::ErrorCode::Io,
        fmt::format("cannot create the folder '{}': {}", engine::shown_path(order.folder),
                    engine::path_error_text(order.folder, error.value()))};
  }
  const Operand& operand = loaded;

  Folder folder(order.folder);
  nlohmann::ordered_json manifest;
  manifest["program"] = fmt::format("expertscope {}", kProgramVersion);
  manifest["operand"] = engine::name_of(order.operand);
  manifest["shape"] = {operand.input.capacity_rows, operand.input.columns};
  std::vector<QuantizationLoss> losses;
  for (const kernels::Direction direction : directions) {
    losses.push_back(dump_direction(order, operand, direction, folder, manifest));
  }
  folder.array("splits.npy", "<i8", "int64", {static_cast<std::int64_t>(operand.splits.size())},
               operand.splits, "rows of every expert");
  manifest["request"] = engine::to_json(order.request);
  folder.manifest(std::move(manifest));
  ENGINE_ASSIGN(std::vector<std::string> files, folder.take());
  return Answer(QuantizeDone{.files = std::move(files), .losses = std::move(losses)});
}

}  // namespace app
