// A small step on the device with random operands, for the tests of the step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/gemm/support.h"
#include "engine/linear/grouped_step.h"
#include "engine/linear/output_check.h"
#include "engine/observe/step_observer.h"
#include "tests/gpu/backend/host_step.h"

namespace engine::testing {

/// What a test chooses of its step.
struct SmallStep {
  int num_groups = 1;
  std::int64_t capacity_rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int layers = 1;
  Recipe recipe = {};
  ProductOptions products = {};
  GemmBackend backend = GemmBackend::CublasLtGrouped;
  int streams = 4;
  WorkspaceStrategy workspace = WorkspaceStrategy::PerMatmul;
  SetupArrays setup_arrays = SetupArrays::PerMatmul;
  bool int32_splits = false;
  std::vector<std::int64_t> host_splits = {};

  StepConfig config() const {
    StepConfig made;
    made.shape = {.preset = {}, .num_experts = num_groups, .rows = capacity_rows, .n = n, .k = k};
    made.layers = layers;
    made.recipe = recipe;
    made.products = products;
    made.backend = backend;
    made.streams = streams;
    made.workspace = workspace;
    made.setup_arrays = setup_arrays;
    made.int32_splits = int32_splits;
    made.host_splits = host_splits;
    return made;
  }
};

class StepFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<FoundDevice> device = find_device();
    if (!device.ok()) GTEST_SKIP() << device.error().message;
    auto library = CublasLt::load("");
    if (!library.ok()) GTEST_SKIP() << library.error().message;
    library_ = library.value();
    capability_ = device.value().capability;
    capability_.cublaslt_version = library_->version();
    auto stream = make_stream();
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    stream_ = std::move(stream).value();
  }

  /// The gate's sentence when this device and library cannot run the recipe; empty when they can.
  std::string refusal(const Recipe& recipe, const ProductOptions& products = {},
                      GemmBackend backend = GemmBackend::CublasLtGrouped) const {
    const Verdict verdict = recipe_support(recipe, backend, capability_, products);
    return verdict.support == Support::Refused ? verdict.sentence : std::string();
  }

  /// Uploads random operands and creates the step. Rows past the last group hold values that would
  /// be noticed. In a list of weights every expert's is a separate allocation, the last one first.
  Status make(const SmallStep& small) { return make(small.config()); }
  Status make(StepConfig config, const std::vector<CallerOutputs>& outputs = {}) {
    config.emulated =
        recipe_support(config.recipe, config.backend, capability_, config.products).support ==
        Support::Fallback;
    const std::int64_t rows = config.capacity_rows();
    host_ = {.x = random_bf16(rows * config.k(), 1, 1.0F),
             .dy = random_bf16(rows * config.n(), 77, 1.0F),
             .w = {},
             .bias = {}};
    if (config.products.bias) host_.bias = random_bf16(config.num_groups() * config.n(), 99, 0.5F);
    weights_.clear();
    step_.reset();
    buffers_.clear();
    StepOperands operands;
    const auto send = [&](const std::vector<std::uint16_t>& values) -> Result<const void*> {
      auto buffer = DeviceBuffer::allocate(static_cast<std::int64_t>(values.size()) * 2, {});
      if (!buffer.ok()) return buffer.error();
      ENGINE_TRY(copy_to_device<std::uint16_t>(buffer.value().data(), values, stream_.get()));
      buffers_.push_back(std::move(buffer).value());
      return static_cast<const void*>(buffers_.back().data());
    };
    const auto x = send(host_.x);
    if (!x.ok()) return x.error();
    operands.activations.push_back({.input = x.value()});
    const auto dy = send(host_.dy);
    if (!dy.ok()) return dy.error();
    operands.gradients.push_back({.input = dy.value()});
    for (int layer = 0; layer < config.layers; ++layer) {
      weights_.push_back(random_bf16(config.weight_rows() * config.k(),
                                     static_cast<std::uint64_t>(layer) + 2, 0.05F));
      if (config.list()) {
        const auto each = static_cast<std::ptrdiff_t>(config.n() * config.k());
        std::vector<ListedWeight> list(static_cast<std::size_t>(config.num_groups()));
        for (int expert = config.num_groups() - 1; expert >= 0; --expert) {
          const auto first = weights_.back().begin() + expert * each;
          const auto w = send(std::vector<std::uint16_t>(first, first + each));
          if (!w.ok()) return w.error();
          list[static_cast<std::size_t>(expert)] = listed_weight(config, w.value());
        }
        operands.weight_lists.push_back(std::move(list));
      } else {
        const auto w = send(weights_.back());
        if (!w.ok()) return w.error();
        operands.weights.push_back(w.value());
      }
      if (!config.products.bias) continue;
      const auto bias = send(host_.bias);
      if (!bias.ok()) return bias.error();
      operands.biases.push_back(bias.value());
    }
    if (spoil_) spoil_(operands);
    auto step = GroupedStep::create(library_, config, operands, outputs, stream_.get());
    if (!step.ok()) return step.error();
    step_ = std::make_unique<GroupedStep>(std::move(step).value());
    auto check = OutputCheck::create(*step_);
    if (!check.ok()) return check.error();
    check_ = std::move(check).value();
    return {};
  }

  const HostOperands& host(std::size_t layer) {
    host_.w = weights_[layer];
    return host_;
  }

  /// Poisons, launches eagerly with these splits, and returns the checksums.
  Result<std::vector<std::uint64_t>> eager_checksums(const std::vector<std::int64_t>& splits) {
    ENGINE_TRY(step_->write_splits(splits, stream_.get()));
    ENGINE_TRY(check_.poison(*step_, stream_.get()));
    ENGINE_TRY(step_->launch(stream_.get(), observer_));
    return check_.checksums(*step_, stream_.get());
  }

  /// An output as numbers, rows past the last group included.
  Result<std::vector<float>> numbers(const StepOutput& output) {
    const auto count = static_cast<std::size_t>(output.capacity_rows * output.columns);
    std::vector<float> values(count);
    if (output.type == ElementType::Fp32) {
      ENGINE_TRY(copy_to_host(std::span<float>(values), output.values, stream_.get()));
      return values;
    }
    std::vector<std::uint16_t> bits(count);
    ENGINE_TRY(copy_to_host(std::span<std::uint16_t>(bits), output.values, stream_.get()));
    std::transform(bits.begin(), bits.end(), values.begin(), bf16_to_float);
    return values;
  }

  /// All of `want`, and NaNs (poison) in the rows behind it. The limits: BF16 rounds to 2^-8; FP8
  /// tensor cores keep about 14 bits of a partial sum.
  void expect_numbers(const StepOutput& output, const std::vector<double>& want) {
    const auto got = numbers(output);
    ASSERT_TRUE(got.ok()) << got.error().message;
    double rms = 0.0;
    for (const double value : want) rms += value * value;
    rms = std::sqrt(rms / static_cast<double>(std::max<std::size_t>(want.size(), 1)));
    const double absolute = (step_->config().quantized() ? 0.03 : 0.004) * rms;
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double error = std::abs(double{got.value()[i]} - want[i]);
      // Not "error > limit": a poisoned NaN must count.
      if (error <= absolute + 0.016 * std::abs(want[i])) continue;
      if (wrong++ == 0) first = i;
    }
    EXPECT_EQ(wrong, 0U) << name_of(output.product) << " of layer " << output.layer << ": of "
                         << want.size() << " values; first at row "
                         << first / static_cast<std::size_t>(output.columns) << ", column "
                         << first % static_cast<std::size_t>(output.columns) << ": "
                         << (wrong > 0 ? got.value()[first] : 0.0F) << " for "
                         << (wrong > 0 ? want[first] : 0.0);
    const auto behind = got.value().begin() + static_cast<std::ptrdiff_t>(want.size());
    EXPECT_TRUE(std::all_of(behind, got.value().end(), [](float value) { return value != value; }))
        << name_of(output.product) << ": rows behind the last group were written";
  }

  /// Every output of the step against the host.
  void expect_host_products(const std::vector<std::int64_t>& splits, int steps = 1) {
    const StepConfig& config = step_->config();
    for (const StepOutput& output : step_->all_outputs()) {
      const HostOperands& operands = host(static_cast<std::size_t>(output.layer));
      switch (output.product) {
        case Product::Fprop:
          expect_numbers(output, host_fprop(config, splits, operands, steps));
          break;
        case Product::Dgrad:
          expect_numbers(output, host_dgrad(config, splits, operands, steps));
          break;
        case Product::Wgrad:
          expect_numbers(output, host_wgrad(config, splits, operands, steps));
          break;
      }
    }
  }

  std::shared_ptr<const CublasLt> library_;
  DeviceCapability capability_;
  Stream stream_;
  StepObserver observer_;
  std::vector<DeviceBuffer> buffers_;
  HostOperands host_;
  std::function<void(StepOperands&)> spoil_;         // changes the operands of the step
  std::vector<std::vector<std::uint16_t>> weights_;  // one per layer
  std::unique_ptr<GroupedStep> step_;
  OutputCheck check_;
};

}  // namespace engine::testing
