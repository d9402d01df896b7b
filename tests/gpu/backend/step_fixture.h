// A small step on the device with random operands, for the tests of the step.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/gemm/support.h"
#include "engine/linear/grouped_step.h"
#include "engine/linear/output_check.h"
#include "tests/gpu/backend/host_step.h"

namespace engine::testing {

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
  std::string refusal(const Recipe& recipe) const {
    return recipe_support(recipe, GemmBackend::CublasLtGrouped, capability_).sentence;
  }

  /// Uploads operands and makes the step.
  Status make(const StepConfig& config) {
    x_ = random_bf16(config.capacity_rows * config.k, 1, 1.0F);
    w_.clear();
    StepOperands operands;
    buffers_.clear();
    const auto send = [&](const std::vector<std::uint16_t>& values) -> Status {
      auto buffer = DeviceBuffer::allocate(static_cast<std::int64_t>(values.size()) * 2);
      if (!buffer.ok()) return buffer.error();
      ENGINE_TRY(copy_to_device<std::uint16_t>(buffer.value().data(), values, stream_.get()));
      buffers_.push_back(std::move(buffer).value());
      return {};
    };
    ENGINE_TRY(send(x_));
    operands.activations = buffers_.back().data();
    for (int layer = 0; layer < config.layers; ++layer) {
      w_.push_back(random_bf16(config.weight_rows() * config.k,
                               static_cast<std::uint64_t>(layer) + 2, 0.05F));
      ENGINE_TRY(send(w_.back()));
      operands.weights.push_back(buffers_.back().data());
    }
    auto step = GroupedStep::create(library_, config, operands, stream_.get());
    if (!step.ok()) return step.error();
    step_ = std::make_unique<GroupedStep>(std::move(step).value());
    auto check = OutputCheck::create(*step_);
    if (!check.ok()) return check.error();
    check_ = std::move(check).value();
    return {};
  }

  /// Poisons, launches eagerly with these splits, and returns the checksums.
  Result<std::vector<std::uint64_t>> eager_checksums(const std::vector<std::int64_t>& splits) {
    ENGINE_TRY(step_->write_splits(splits, stream_.get()));
    ENGINE_TRY(check_.poison(*step_, stream_.get()));
    ENGINE_TRY(step_->launch(stream_.get(), observer_));
    return check_.checksums(*step_, stream_.get());
  }

  /// One layer's output, BF16 bits [capacity_rows, n].
  Result<std::vector<std::uint16_t>> output(std::size_t layer) {
    const StepConfig& config = step_->config();
    std::vector<std::uint16_t> values(static_cast<std::size_t>(config.capacity_rows * config.n));
    ENGINE_TRY(copy_to_host(std::span<std::uint16_t>(values),
                            step_->buffers().layers[layer].output.data(), stream_.get()));
    return values;
  }

  std::shared_ptr<const CublasLt> library_;
  DeviceCapability capability_;
  Stream stream_;
  StepObserver observer_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::uint16_t> x_;
  std::vector<std::vector<std::uint16_t>> w_;  // a layer
  std::unique_ptr<GroupedStep> step_;
  OutputCheck check_;
};

}  // namespace engine::testing
