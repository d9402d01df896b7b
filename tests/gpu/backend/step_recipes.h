// Every recipe that a step can run, for tests that iterate over all of them.
#pragma once

#include <ostream>
#include <string>

#include "tests/gpu/backend/step_fixture.h"

namespace engine::testing {

struct NamedRecipe {
  const char* name;
  Recipe recipe;
};

inline void PrintTo(const NamedRecipe& named, std::ostream* out) { *out << named.name; }

inline const NamedRecipe kRecipes[] = {
    {"bf16", {.scaling = Scaling::None}},
    {"tensor_e4m3", {.scaling = Scaling::PerTensorCurrent, .pow2_scales = false}},
    {"tensor_e4m3_pow2", {.scaling = Scaling::PerTensorCurrent}},
    {"tensor_hybrid", {.scaling = Scaling::PerTensorCurrent, .gradient_format = Fp8Format::E5m2}},
    {"tensor_e5m2", {.scaling = Scaling::PerTensorCurrent, .activation_format = Fp8Format::E5m2}},
    {"tensor_fast", {.scaling = Scaling::PerTensorCurrent, .split_accumulator = false}},
    {"block_pow2", {.scaling = Scaling::Block}},
    {"block_fp32_scales", {.scaling = Scaling::Block, .pow2_scales = false}},
    {"block_plain_weights", {.scaling = Scaling::Block, .square_weight_blocks = false}},
    {"block_square_activations",
     {.scaling = Scaling::Block, .square_weight_blocks = false, .square_activation_blocks = true}},
    {"block_square_gradients",
     {.scaling = Scaling::Block, .square_weight_blocks = false, .square_gradient_blocks = true}},
    {"mxfp8", {.scaling = Scaling::Mxfp8}},
    {"nvfp4", {.scaling = Scaling::Nvfp4}},
};

inline ProductOptions both_passes() { return {.passes = StepPasses::ForwardBackward}; }

class EveryRecipe : public StepFixture, public ::testing::WithParamInterface<NamedRecipe> {
 protected:
  void SetUp() override {
    StepFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string sentence = refusal(GetParam().recipe, both_passes()); !sentence.empty()) {
      GTEST_SKIP() << sentence;
    }
  }
};

}  // namespace engine::testing
