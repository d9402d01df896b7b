// What a refusal advises about the sizes of operands from files is followed, to its end.
#include "engine/input/operand_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "engine/input/routing.h"
#include "engine/model/leaves.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

/// A .npy of float32 zeros.
std::string zeros(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  const std::string header = fmt::format(
      "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}\n", fmt::join(shape, ", "));
  const auto bytes = static_cast<char>(header.size());
  return std::string("\x93NUMPY\x01\0", 8) + bytes + '\0' + header +
         std::string(static_cast<std::size_t>(4 * count), '\0');
}

/// Does what refusals advise until none does any more; their number, and the last one.
struct Followed {
  int refusals = 0;
  std::string last;  // empty: the request is accepted
};

Followed follow(RunRequest& request) {
  Followed followed;
  for (; followed.refusals < 10; ++followed.refusals) {
    const Status checked = check_operand_files(request);
    followed.last = checked.ok() ? "" : checked.error().message;
    static const std::regex kAdvice("(experts|rows|n|k) to ([0-9]+)");
    const std::size_t set = followed.last.find(": set ");
    if (set == std::string::npos) return followed;
    const std::string advice = followed.last.substr(set);
    for (std::sregex_iterator one(advice.begin(), advice.end(), kAdvice), end; one != end; ++one) {
      const std::string name = (*one)[1];
      const std::string field = "shape." + (name == "experts" ? "num_experts" : name);
      EXPECT_TRUE(set_leaf(kType<RunRequest>, &request, field, (*one)[2].str()));
    }
  }
  return followed;
}

RunRequest request_of(StepKind step, int top_k) {
  RunRequest request;
  request.step = step;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 64, .n = 32, .k = 48};
  request.products.passes = StepPasses::ForwardBackward;
  request.expert_layer.top_k = top_k;
  return request;
}

TEST(OperandFit, AdviceEndsInARequestThatFits) {
  const TemporaryFile x("fit_x.npy", zeros({128, 96}));
  const TemporaryFile rows("fit_rows.npy", zeros({64, 48}));  // are what the settings say already
  const TemporaryFile w("fit_w.npy", zeros({8, 64, 96}));
  const TemporaryFile flat("fit_flat.npy", zeros({256, 96}));
  for (const StepKind step : {StepKind::Linear, StepKind::ExpertLayer}) {
    for (const int top_k : {0, 2}) {
      for (const TemporaryFile* const file : {&x, &rows, &w, &flat}) {
        for (int operand = 0; operand < 4; ++operand) {
          RunRequest request = request_of(step, top_k);
          InputSpec* const inputs[] = {&request.activations, &request.weights,
                                       &request.products.gradients,
                                       &request.expert_layer.down_weights};
          *inputs[operand] = FileInput{file->path(), {}};
          SCOPED_TRACE(fmt::format("{}, top_k {}, {}, operand {}", name_of(step), top_k,
                                   file->path(), operand));
          const Followed followed = follow(request);
          EXPECT_LE(followed.refusals, 1) << followed.last;
          EXPECT_THAT(followed.last, testing::Not(HasSubstr(": set ")));
          EXPECT_TRUE(!followed.last.empty() || validate(request).ok());
        }
      }
    }
  }
}

TEST(OperandFit, TheSettingsOfAnExpertLayerAreNamed) {
  const TemporaryFile dy("fit_dy.npy", zeros({64, 96}));
  RunRequest request = request_of(StepKind::ExpertLayer, 2);
  request.products.gradients = FileInput{dy.path(), {}};
  EXPECT_THAT(check_operand_files(request).error().message,
              HasSubstr("is [64, 96] but gradients need [rows / top_k = 32, k = 48]: set rows "
                        "to 128 and k to 96, or pick another tensor"));
  const TemporaryFile down("fit_down.npy", zeros({4, 48, 64}));
  request = request_of(StepKind::ExpertLayer, 0);
  request.expert_layer.down_weights = FileInput{down.path(), {}};
  EXPECT_THAT(check_operand_files(request).error().message,
              HasSubstr("need [experts = 4, k = 48, n / 2 = 16]: set n to 128"));
}

TEST(OperandFit, FilesThatContradictEachOtherAreNotAdvisedInTurn) {
  const TemporaryFile x("fit_x.npy", zeros({64, 96}));
  const TemporaryFile w("fit_w.npy", zeros({4, 32, 48}));
  RunRequest request = request_of(StepKind::Linear, 0);
  request.activations = FileInput{x.path(), {}};
  request.weights = FileInput{w.path(), {}};
  const Followed followed = follow(request);
  EXPECT_EQ(followed.refusals, 0);
  EXPECT_THAT(
      followed.last,
      HasSubstr("pick another tensor; setting k to 96 does not help, because the weights of"));
  // Nor a tensor and a routing.
  const TemporaryFile longer("fit_longer.npy", zeros({70, 48}));
  const TemporaryFile splits("fit_splits.json", "[16, 16, 16, 16]");
  request = request_of(StepKind::Linear, 0);
  request.activations = FileInput{longer.path(), {}};
  request.routing.distribution = RoutingDistribution::File;
  request.routing.path = splits.path();
  ASSERT_TRUE(resolve_shape(request).ok());
  EXPECT_THAT(check_operand_files(request).error().message, HasSubstr("the routing of"));
}

TEST(OperandFit, AShapeThatNoStepHasIsNotAdvised) {
  const TemporaryFile x("fit_x.npy", zeros({64, 7}));
  RunRequest request = request_of(StepKind::Linear, 0);
  request.activations = FileInput{x.path(), {}};
  EXPECT_THAT(
      check_operand_files(request).error().message,
      HasSubstr("pick another tensor; setting k to 7 does not help, because shape.k is 7; "));
  EXPECT_THAT(check_operand_files(request).error().message,
              AllOf(HasSubstr("16 bytes at a time)"), Not(HasSubstr("use 16"))))
      << "the remedy is for whoever chose 7";
}

/// A value may hold what looks like the beginning of a remedy.
TEST(OperandFit, WhyAShapeDoesNotHelpIsGivenInFull) {
  const TemporaryFile x("fit_x.npy", zeros({64, 96}));
  RunRequest request = request_of(StepKind::Linear, 0);
  request.activations = FileInput{x.path(), {}};
  request.cublaslt_library = "/one: two\xff";
  EXPECT_THAT(check_operand_files(request).error().message,
              HasSubstr("because cublaslt_library is '/one: two"));
  EXPECT_THAT(check_operand_files(request).error().message, HasSubstr("which is not UTF-8"));
}

}  // namespace
}  // namespace engine
