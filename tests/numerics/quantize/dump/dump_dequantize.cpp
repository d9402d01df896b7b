// Dequantize of any layout; codes, scales and offsets come from files.
#include "kernels/dequantize/dequantize.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {
namespace {

kernels::ScaleLayout scale_layout(const std::string& name) {
  if (name == "per_tensor") return kernels::ScaleLayout::PerTensor;
  if (name.starts_with("1x")) return kernels::ScaleLayout::BlockLine;
  if (name == "128x128") return kernels::ScaleLayout::BlockSquare;
  if (name == "mx1x32") return kernels::ScaleLayout::Mx1x32;
  if (name == "mx32x32") return kernels::ScaleLayout::Mx32x32;
  if (name == "nv1x16") return kernels::ScaleLayout::Nv1x16;
  if (name == "nv16x16") return kernels::ScaleLayout::Nv16x16;
  throw std::runtime_error("unknown layout " + name);
}

}  // namespace

void dump_dequantize(const Case& test) {
  const auto codes = test.values<std::uint8_t>("codes");
  // Read as floats for their alignment; MXFP8 and NVFP4 scales are bytes, padded to whole floats.
  const auto scales = test.values<float>("scales");
  const auto amax = test.values<float>("amax");
  const auto code_offsets = test.values<std::int64_t>("code_offsets");
  const auto output_offsets = test.values<std::int64_t>("output_offsets");
  const std::int64_t columns = test.integer("columns");
  const kernels::InputType type = input_type(test.text("type"));
  std::vector<std::uint8_t> output = byte_buffer(test.integer("output_capacity") * columns *
                                                 static_cast<std::int64_t>(element_bytes(type)));
  kernels::dequantize_cpu(
      {.quantized = {.codes = codes.data(),
                     .format = test.format(),
                     .layout = scale_layout(test.text("layout")),
                     .block = static_cast<int>(test.integer("block")),
                     .direction = test.columnwise() ? kernels::Direction::Columnwise
                                                    : kernels::Direction::Rowwise,
                     .micro_layout = test.flag("swizzled") ? kernels::MicroScaleLayout::Swizzled
                                                           : kernels::MicroScaleLayout::Compact,
                     .hadamard = test.flag("hadamard"),
                     .scales = scales.data(),
                     .amax = amax.empty() ? nullptr : amax.data(),
                     .row_offsets = code_offsets.data(),
                     .num_groups = static_cast<int>(code_offsets.size()) - 1,
                     .capacity_rows = test.integer("code_capacity"),
                     .columns = columns},
       .row_offsets = output_offsets.empty() ? nullptr : output_offsets.data(),
       .output = output.data(),
       .output_type = type});
  test.write("output", output);
}

}  // namespace quantize_dump
