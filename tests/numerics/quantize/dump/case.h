// One case of quantize_dump: `key=value` words, the operand they name, and its sentinel buffers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/common/types.h"

namespace quantize_dump {

inline constexpr std::uint8_t kByteSentinel = 0xA5;
inline constexpr std::uint32_t kFloatSentinel = 0xFFC0DEADU;

template <typename Value>
std::vector<Value> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return values;
}

class Case {
 public:
  explicit Case(std::map<std::string, std::string> words) : words_(std::move(words)) {}

  bool has(const std::string& key) const { return words_.count(key) != 0; }
  std::string text(const std::string& key, const std::string& fallback = "") const {
    const auto found = words_.find(key);
    return found == words_.end() ? fallback : found->second;
  }
  std::int64_t integer(const std::string& key, std::int64_t fallback = 0) const {
    return has(key) ? std::atoll(text(key).c_str()) : fallback;
  }
  float number(const std::string& key, float fallback = 0.0F) const {
    return has(key) ? std::strtof(text(key).c_str(), nullptr) : fallback;
  }
  bool flag(const std::string& key) const { return integer(key) != 0; }
  /// The file that a key names; empty where the case lacks the key.
  template <typename Value>
  std::vector<Value> values(const std::string& key) const {
    return has(key) ? read_file<Value>(text(key)) : std::vector<Value>{};
  }
  template <typename Value>
  void write(const std::string& name, const std::vector<Value>& values) const {
    const std::string path = text("prefix") + "." + name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(Value)));
    if (!file.good()) throw std::runtime_error("cannot write " + path);
  }

  kernels::Fp8Format format() const {
    return text("format", "e4m3") == "e4m3" ? kernels::Fp8Format::E4m3 : kernels::Fp8Format::E5m2;
  }
  kernels::ScaleOptions options() const {
    return {.pow2 = flag("pow2"), .amax_epsilon = number("epsilon")};
  }
  bool rowwise() const { return text("direction", "row") != "column"; }
  bool columnwise() const { return text("direction", "row") != "row"; }

 private:
  std::map<std::string, std::string> words_;
};

inline kernels::InputType input_type(const std::string& name) {
  if (name == "bf16") return kernels::InputType::Bf16;
  if (name == "fp16") return kernels::InputType::Fp16;
  if (name == "fp32") return kernels::InputType::Fp32;
  throw std::runtime_error("unknown type " + name);
}

inline std::vector<std::uint8_t> byte_buffer(std::int64_t count) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(count), kByteSentinel);
}
inline std::vector<float> float_buffer(std::int64_t count) {
  return std::vector<float>(static_cast<std::size_t>(count), std::bit_cast<float>(kFloatSentinel));
}

inline kernels::Activation activation_of(const Case& test) {
  using kernels::ActivationFunction;
  const std::map<std::string, ActivationFunction> functions = {
      {"", ActivationFunction::None},
      {"silu", ActivationFunction::Silu},
      {"gelu", ActivationFunction::Gelu},
      {"relu", ActivationFunction::Relu},
      {"squared_relu", ActivationFunction::SquaredRelu}};
  kernels::Activation activation;
  activation.function = functions.at(test.text("function"));
  activation.gated = test.flag("gated");
  activation.slope = test.number("slope", activation.slope);
  activation.limit = test.number("limit", activation.limit);
  activation.up_offset = test.number("up_offset", activation.up_offset);
  return activation;
}

/// Input, offsets and controls of a case; the kernels' structs point into it.
struct Operand {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> gradient;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int64_t> output_offsets;
  std::vector<float> noop;
  kernels::GroupedInput input;
  kernels::OutputRows output_rows;
  kernels::LaunchControls controls;
  std::int64_t output_capacity = 0;

  explicit Operand(const Case& test)
      : bytes(test.values<std::uint8_t>("input")),
        row_offsets(test.values<std::int64_t>("offsets")),
        output_offsets(test.values<std::int64_t>("output_offsets")) {
    input.activation = activation_of(test);
    gradient = test.values<std::uint8_t>("gradient_of_y");
    input.columns = test.integer("columns");
    if (row_offsets.size() < 2 || input.columns <= 0)
      throw std::runtime_error("no groups or columns");
    input.type = input_type(test.text("type", "bf16"));
    input.input = bytes.data();
    if (!gradient.empty()) input.output_gradient = gradient.data();
    input.row_offsets = row_offsets.data();
    input.num_groups = static_cast<int>(row_offsets.size()) - 1;
    input.capacity_rows = static_cast<std::int64_t>(bytes.size()) /
                          (input.input_columns() * kernels::element_bytes(input.type));
    output_capacity = test.integer("output_capacity", input.capacity_rows);
    if (!output_offsets.empty()) {
      output_rows = {.row_offsets = output_offsets.data(), .capacity_rows = output_capacity};
    }
    if (test.has("noop")) {
      noop = {test.number("noop")};
      controls.noop = noop.data();
    }
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
};

}  // namespace quantize_dump
