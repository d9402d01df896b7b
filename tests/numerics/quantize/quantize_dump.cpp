// Runs one CPU recipe on files and writes its raw outputs, so that an oracle in another language
// can compare them. Buffers start as sentinels: untouched elements stay recognisable.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace {

template <typename Value>
std::vector<Value> read_values(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return values;
}

template <typename Value>
bool write_values(const std::string& path, const std::vector<Value>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(Value)));
  return file.good();
}

std::optional<kernels::InputType> input_type(const std::string& name) {
  if (name == "bf16") return kernels::InputType::Bf16;
  if (name == "fp16") return kernels::InputType::Fp16;
  if (name == "fp32") return kernels::InputType::Fp32;
  return std::nullopt;
}

struct Outputs {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inv;
  std::vector<float> amax;
};

Outputs sentinel_outputs(const kernels::GroupedInput& input, std::int64_t scales) {
  const float sentinel = std::bit_cast<float>(0xFFC0DEADU);
  return {std::vector<std::uint8_t>(static_cast<std::size_t>(input.capacity_rows * input.columns),
                                    std::uint8_t{0xA5}),
          std::vector<float>(static_cast<std::size_t>(scales), sentinel),
          std::vector<float>(static_cast<std::size_t>(scales), sentinel)};
}

Outputs per_tensor(const kernels::GroupedInput& input, kernels::Fp8Format format,
                   const kernels::ScaleOptions& options) {
  Outputs outputs = sentinel_outputs(input, input.num_groups);
  std::vector<float> scale(static_cast<std::size_t>(input.num_groups));
  kernels::group_amax_cpu({.input = input, .amax = outputs.amax.data()});
  kernels::per_tensor_scale_cpu({.amax = outputs.amax.data(),
                                 .num_groups = input.num_groups,
                                 .format = format,
                                 .options = options,
                                 .scale = scale.data(),
                                 .scale_inv = outputs.scale_inv.data()});
  kernels::quantize_per_tensor_cpu(
      {.input = input, .format = format, .scale = scale.data(), .rowwise = outputs.codes.data()});
  return outputs;
}

/// The cast alone, one group, with a scale given from outside.
Outputs cast(const kernels::GroupedInput& input, kernels::Fp8Format format, float scale) {
  Outputs outputs = sentinel_outputs(input, 0);
  kernels::quantize_per_tensor_cpu(
      {.input = input, .format = format, .scale = &scale, .rowwise = outputs.codes.data()});
  return outputs;
}

Outputs block(const kernels::GroupedInput& input, kernels::Fp8Format format,
              const kernels::ScaleOptions& options, bool square) {
  const auto capacity =
      square ? kernels::block_128x128_scale_capacity : kernels::block_1x128_scale_capacity;
  Outputs outputs =
      sentinel_outputs(input, capacity(input.capacity_rows, input.num_groups, input.columns));
  const kernels::QuantizeBlockArgs args{.input = input,
                                        .format = format,
                                        .options = options,
                                        .rowwise = {.codes = outputs.codes.data(),
                                                    .scale_inv = outputs.scale_inv.data(),
                                                    .block_amax = outputs.amax.data()}};
  (square ? kernels::quantize_block_128x128_cpu : kernels::quantize_block_1x128_cpu)(args);
  return outputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr,
                 "usage: quantize_dump cast|per_tensor|1x128|128x128 bf16|fp16|fp32 e4m3|e5m2 "
                 "POW2(0|1) EPSILON_OR_SCALE ROW_OFFSETS COLUMNS PREFIX\n"
                 "reads PREFIX.input, writes PREFIX.codes, PREFIX.scale_inv and PREFIX.amax\n");
    return 2;
  }
  const std::string recipe = argv[1];
  const std::optional<kernels::InputType> type = input_type(argv[2]);
  const kernels::Fp8Format format =
      std::string(argv[3]) == "e4m3" ? kernels::Fp8Format::E4m3 : kernels::Fp8Format::E5m2;
  const float number = std::strtof(argv[5], nullptr);
  const kernels::ScaleOptions options{.pow2 = argv[4][0] == '1', .amax_epsilon = number};
  const auto row_offsets = read_values<std::int64_t>(argv[6]);
  const std::int64_t columns = std::atoll(argv[7]);
  const std::string prefix = argv[8];
  const auto bytes = read_values<std::uint8_t>(prefix + ".input");
  if (!type || row_offsets.size() < 2 || columns <= 0) return 2;
  const std::int64_t element_bytes = *type == kernels::InputType::Fp32 ? 4 : 2;
  const kernels::GroupedInput input{
      .input = bytes.data(),
      .type = *type,
      .row_offsets = row_offsets.data(),
      .num_groups = static_cast<int>(row_offsets.size()) - 1,
      .capacity_rows = static_cast<std::int64_t>(bytes.size()) / (columns * element_bytes),
      .columns = columns};
  const Outputs outputs = recipe == "cast" ? cast(input, format, number)
                          : recipe == "per_tensor"
                              ? per_tensor(input, format, options)
                              : block(input, format, options, recipe == "128x128");
  const bool written = write_values(prefix + ".codes", outputs.codes) &&
                       write_values(prefix + ".scale_inv", outputs.scale_inv) &&
                       write_values(prefix + ".amax", outputs.amax);
  return written ? 0 : 1;
}
