// Runs a CPU twin and its kernel on equal arrays, every output filled with sentinels before, and
// compares all bytes after: what must not be written is compared too.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/quantize/grouped_cases.h"

namespace gpu_tests {

/// Arrays of one launch, on the host and on the device.
class TwinArrays {
 public:
  /// An output of `bytes` bytes, all sentinel; returns its number.
  int output(std::int64_t bytes, std::uint8_t sentinel = quantize_tests::kCodeSentinel) {
    return add(std::vector<std::uint8_t>(static_cast<std::size_t>(bytes), sentinel), true);
  }
  /// The same of FP32 sums, where the bits of a NaN are the platform's own.
  int float_output(std::int64_t count) {
    const int number = output(4 * count);
    floats_[static_cast<std::size_t>(number)] = true;
    return number;
  }
  template <class Value>
  int input(const std::vector<Value>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(Value));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return add(std::move(bytes), false);
  }
  /// What the kernel changes and the twin changes alike.
  template <class Value>
  int state(const std::vector<Value>& values) {
    const int number = input(values);
    compared_[static_cast<std::size_t>(number)] = true;
    return number;
  }

  template <class Value>
  Value* at(int number, bool device) const {
    const auto i = static_cast<std::size_t>(number);
    return device ? reinterpret_cast<Value*>(device_[i]->get())
                  : reinterpret_cast<Value*>(host_[i]->data());
  }

  void expect_equal() const {
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (!compared_[i]) continue;
      std::vector<std::uint8_t> got = device_[i]->values();
      if (floats_[i]) forget_nan_bits(got, *host_[i]);
      if (got == *host_[i]) continue;
      std::size_t first = 0;
      while (got[first] == (*host_[i])[first]) ++first;
      std::size_t different = 0;
      for (std::size_t b = 0; b < got.size(); ++b) different += got[b] != (*host_[i])[b] ? 1 : 0;
      ADD_FAILURE() << "array " << i << " of " << got.size() << " bytes: " << different
                    << " differ, the first is byte " << first << ": kernel "
                    << static_cast<int>(got[first]) << ", twin "
                    << static_cast<int>((*host_[i])[first]);
    }
  }

 private:
  static void forget_nan_bits(std::vector<std::uint8_t>& got,
                              const std::vector<std::uint8_t>& wanted) {
    for (std::size_t at = 0; at < got.size(); at += 4) {
      float values[2];
      std::memcpy(&values[0], got.data() + at, 4);
      std::memcpy(&values[1], wanted.data() + at, 4);
      if (std::isnan(values[0]) && std::isnan(values[1])) {
        std::memcpy(got.data() + at, wanted.data() + at, 4);
      }
    }
  }

  int add(std::vector<std::uint8_t> bytes, bool compared) {
    device_.push_back(std::make_unique<DeviceArray<std::uint8_t>>(bytes));
    host_.push_back(std::make_unique<std::vector<std::uint8_t>>(std::move(bytes)));
    compared_.push_back(compared);
    floats_.push_back(false);
    return static_cast<int>(host_.size()) - 1;
  }

  std::vector<std::unique_ptr<std::vector<std::uint8_t>>> host_;
  std::vector<std::unique_ptr<DeviceArray<std::uint8_t>>> device_;
  std::vector<bool> compared_;
  std::vector<bool> floats_;
};

/// What an operand is made of: a function of the input, or its gradient.
struct Applied {
  kernels::Activation activation = {};
  bool gradient = false;
  std::string name() const {
    if (activation.is_none()) return "";
    return " function " + std::to_string(static_cast<int>(activation.function)) +
           (activation.gated ? " gated" : "") + (activation.is_clamped() ? " clamped" : "") +
           (gradient ? " gradient" : "");
  }
};

/// Every function gated and not, and the clamped one, forward and backward.
inline std::vector<Applied> all_activations() {
  using kernels::ActivationFunction;
  std::vector<kernels::Activation> all = {
      kernels::kClampedSwiglu,
      {.function = ActivationFunction::Silu, .slope = kernels::kQuickGeluSlope}};
  for (const auto function : {ActivationFunction::Silu, ActivationFunction::Gelu,
                              ActivationFunction::Relu, ActivationFunction::SquaredRelu}) {
    for (const bool gated : {false, true}) all.push_back({.function = function, .gated = gated});
  }
  std::vector<Applied> applied;
  for (const kernels::Activation& activation : all) {
    for (const bool gradient : {false, true}) applied.push_back({activation, gradient});
  }
  return applied;
}

/// A grouped operand on both sides.
class TwinOperand {
 public:
  /// `grouped` is what an activation makes of the operand, if there is one.
  TwinOperand(TwinArrays& arrays, const quantize_tests::GroupedCase& grouped,
              kernels::InputType type, quantize_tests::Fill fill, const Applied& applied,
              bool padded)
      : arrays_(arrays) {
    quantize_tests::GroupedCase wide = grouped;
    if (applied.activation.gated) wide.columns *= 2;
    const quantize_tests::Operand operand(wide, type, fill);
    input_ = operand.input;
    input_.activation = applied.activation;
    if (applied.gradient) {
      // Values of its own: a kernel that read X in place of dY would go unseen.
      constexpr unsigned kOfGradient = 1;
      gradient_ = arrays.input(quantize_tests::Operand(grouped, type, fill, kOfGradient).bytes);
    }
    input_.columns = applied.gradient ? wide.columns : grouped.columns;
    values_ = arrays.input(operand.bytes);
    offsets_ = arrays.input(operand.row_offsets);
    std::vector<std::int64_t> out = {0};
    for (std::size_t g = 0; g < grouped.splits.size(); ++g) {
      // Every third group one row more than it needs to fill 16, and sometimes a whole strip more.
      const std::int64_t rows = kernels::round_up(grouped.splits[g], 16);
      out.push_back(out.back() + (g % 3 == 1 ? rows + 1 + (g % 2 == 0 ? 128 : 0) : rows));
    }
    out_capacity_ = padded ? out.back() + 3 : input_.capacity_rows;
    padded_ = padded;
    out_offsets_ = arrays.input(out);
  }

  kernels::GroupedInput input(bool device) const {
    kernels::GroupedInput input = input_;
    input.input = arrays_.at<void*>(values_, device);
    input.row_offsets = arrays_.at<std::int64_t>(offsets_, device);
    if (gradient_ >= 0) input.output_gradient = arrays_.at<void*>(gradient_, device);
    return input;
  }
  kernels::OutputRows output_rows(bool device) const {
    if (!padded_) return {};
    return {arrays_.at<std::int64_t>(out_offsets_, device), out_capacity_};
  }
  std::int64_t out_capacity() const { return out_capacity_; }
  int num_groups() const { return input_.num_groups; }
  std::int64_t columns() const { return input_.columns; }

 private:
  TwinArrays& arrays_;
  kernels::GroupedInput input_;
  std::int64_t out_capacity_ = 0;
  bool padded_ = false;
  int values_ = 0;
  int gradient_ = -1;
  int offsets_ = 0;
  int out_offsets_ = 0;
};

/// What every recipe is tried with.
struct RecipeVariant {
  kernels::InputType type = kernels::InputType::Bf16;
  quantize_tests::Fill fill = quantize_tests::Fill::Mild;
  Applied applied = {};
  bool padded = false;
  bool rowwise = true;
  bool columnwise = true;
  bool tickets = false;
  std::string name() const {
    return "type " + std::to_string(static_cast<int>(type)) + " fill " +
           std::to_string(static_cast<int>(fill)) + applied.name() + (padded ? " padded" : "") +
           (rowwise ? " row" : "") + (columnwise ? " column" : "") + (tickets ? " tickets" : "");
  }
};

inline std::vector<RecipeVariant> recipe_variants(bool with_activations = true) {
  std::vector<RecipeVariant> all;
  using kernels::InputType;
  using quantize_tests::Fill;
  const std::vector<Applied> activations = all_activations();
  std::size_t next = 0;  // the activations take turns
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    for (const int direction : {1, 2, 3}) {
      for (const bool padded : {false, true}) {
        RecipeVariant variant{
            .type = type,
            .fill = (direction + (padded ? 1 : 0)) % 2 == 0 ? Fill::Wild : Fill::Mild,
            .padded = padded,
            .rowwise = (direction & 1) != 0,
            .columnwise = (direction & 2) != 0,
            .tickets = padded};
        all.push_back(variant);
        if (!with_activations || (padded && direction != 3)) continue;
        variant.tickets = !padded;
        for (const Applied& applied :
             {Applied{kernels::kSwiglu, false}, Applied{kernels::kSwiglu, true},
              activations[next++ % activations.size()], activations[next++ % activations.size()]}) {
          variant.applied = applied;
          all.push_back(variant);
        }
      }
    }
  }
  return all;
}

}  // namespace gpu_tests
