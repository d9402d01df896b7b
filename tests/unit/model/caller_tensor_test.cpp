// Every attribute of a foreign tensor that a product assumes is checked: a mismatch is refused by
// name, with both values and the remedy; matching tensors pass.
#include "engine/model/caller_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

namespace engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr WeightDemand kDemand{.layer = 2, .num_groups = 4, .n = 128, .k = 256};

/// An address that is never dereferenced.
void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

std::vector<ListedWeight> fitting(const WeightDemand& demand) {
  std::vector<ListedWeight> weights;
  for (int expert = 0; expert < demand.num_groups; ++expert) {
    weights.push_back({.tensor = {.values = address(4096U * (1U + static_cast<unsigned>(expert))),
                                  .rows = demand.n,
                                  .columns = demand.k},
                       .recipe = demand.recipe,
                       .scale_form = demand.scale_form});
  }
  return weights;
}

struct Spoilt {
  const char* name;
  Scaling scaling;
  std::function<void(ListedWeight&)> spoil;
  std::vector<const char*> words;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.name; }

class WeightList : public testing::TestWithParam<Spoilt> {};

TEST_P(WeightList, NamesTheExpertTheAttributeBothValuesAndTheRemedy) {
  WeightDemand demand = kDemand;
  demand.recipe.scaling = GetParam().scaling;
  std::vector<ListedWeight> weights = fitting(demand);
  ASSERT_TRUE(check_weight_list(demand, weights).ok());
  GetParam().spoil(weights[3]);
  const Status status = check_weight_list(demand, weights);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("expert 3"), HasSubstr("layer 2"), HasSubstr("; ")));
  for (const char* word : GetParam().words) {
    EXPECT_THAT(status.error().message, HasSubstr(word));
  }
}

const std::vector<Spoilt> kSpoilt = {
    {"address", Scaling::None, [](auto& w) { w.tensor.values = nullptr; }, {"address", "null"}},
    {"device", Scaling::None, [](auto& w) { w.tensor.device = 1; }, {"device 1", "device 0"}},
    {"host", Scaling::None, [](auto& w) { w.tensor.device = kHostMemory; }, {"host memory"}},
    {"alignment",
     Scaling::None,
     [](auto& w) { w.tensor.values = address(4096 + 10); },
     {"alignment", "10 bytes past", "16 bytes"}},
    {"type",
     Scaling::None,
     [](auto& w) { w.tensor.type = ElementType::Fp32; },
     {"element type", "FP32", "BF16"}},
    {"rows", Scaling::None, [](auto& w) { w.tensor.rows = 64; }, {"rows (n)", "64", "128"}},
    {"columns",
     Scaling::None,
     [](auto& w) { w.tensor.columns = 512; },
     {"columns (k)", "512", "256"}},
    {"layout",
     Scaling::None,
     [](auto& w) { w.tensor.row_stride = 272; },
     {"layout", "272", "256", "contiguous"}},
    {"size",
     Scaling::None,
     [](auto& w) { w.tensor.capacity_bytes = 65535; },
     {"size", "65535", "65536"}},
    {"recipe",
     Scaling::Block,
     [](auto& w) { w.recipe.scaling = Scaling::Mxfp8; },
     {"recipe", "mxfp8", "fp8-block"}},
    {"pow2",
     Scaling::Block,
     [](auto& w) { w.recipe.pow2_scales = false; },
     {"power-of-two scales", "off", "on"}},
    {"epsilon",
     Scaling::PerTensorCurrent,
     [](auto& w) { w.recipe.amax_epsilon = 0.5F; },
     {"amax epsilon", "0.5", "0"}},
    {"square",
     Scaling::Mxfp8,
     [](auto& w) { w.recipe.square_weight_blocks = false; },
     {"square blocks"}},
    {"history",
     Scaling::PerTensorDelayed,
     [](auto& w) { w.recipe.delayed.history_length = 16; },
     {"history length", "16", "1024"}},
    {"margin",
     Scaling::PerTensorDelayed,
     [](auto& w) { w.recipe.delayed.margin = 2; },
     {"margin", "2", "0"}},
    {"algorithm",
     Scaling::PerTensorDelayed,
     [](auto& w) { w.recipe.delayed.algorithm = kernels::AmaxAlgorithm::MostRecent; },
     {"most recent amax"}},
    {"hadamard", Scaling::Nvfp4, [](auto& w) { w.recipe.hadamard = false; }, {"Hadamard"}},
    {"scale_form",
     Scaling::Mxfp8,
     [](auto& w) { w.scale_form = ScaleForm::Swizzled; },
     {"scale form", "swizzled", "row-major"}},
};

INSTANTIATE_TEST_SUITE_P(CallerTensor, WeightList, testing::ValuesIn(kSpoilt),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(CallerTensor, AListOfAnotherLengthIsRefused) {
  std::vector<ListedWeight> weights = fitting(kDemand);
  weights.pop_back();
  const Status status = check_weight_list(kDemand, weights);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("3 tensors"), HasSubstr("4 experts")));
}

TEST(CallerTensor, QuantizersOfAHighPrecisionStepAreNotCompared) {
  std::vector<ListedWeight> weights = fitting(kDemand);
  WeightDemand demand = kDemand;
  demand.recipe.scaling = Scaling::None;
  for (ListedWeight& weight : weights) weight.recipe.scaling = Scaling::None;
  weights[1].recipe.pow2_scales = false;
  EXPECT_TRUE(check_weight_list(demand, weights).ok());
}

TEST(CallerTensor, AnOutputMayOnlyDifferByBeingLarger) {
  const OutputDemand demand{
      .name = "dW, layer 1", .type = ElementType::Fp32, .rows = 512, .columns = 64};
  const CallerTensor fits{
      .values = address(256), .type = ElementType::Fp32, .rows = 512, .columns = 64};
  EXPECT_TRUE(check_output(demand, fits).ok());
  CallerTensor larger = fits;
  larger.rows = 600;
  larger.capacity_bytes = std::int64_t{512} * 64 * 4;
  EXPECT_TRUE(check_output(demand, larger).ok());

  const auto refused = [&](auto&& spoil, const char* word) {
    CallerTensor tensor = fits;
    spoil(tensor);
    const Status status = check_output(demand, tensor);
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("dW, layer 1: "), HasSubstr(word)));
  };
  refused([](auto& t) { t.type = ElementType::Bf16; }, "BF16 where FP32");
  refused([](auto& t) { t.rows = 511; }, "511 where at least 512");
  refused([](auto& t) { t.columns = 65; }, "65 where 64");
  refused([](auto& t) { t.row_stride = 80; }, "row stride");
  refused([](auto& t) { t.capacity_bytes = 1000; }, "1000 bytes where at least 131072");
  refused([](auto& t) { t.values = address(264); }, "alignment");
  refused([](auto& t) { t.device = 3; }, "device 3");
  refused([](auto& t) { t.values = nullptr; }, "address");
  refused([](auto& t) { t.rows = std::numeric_limits<std::int64_t>::min(); }, "rows");
}

}  // namespace
}  // namespace engine
