// A dump of a step: what its names say, the sizes that follow, and which tensor does not fit.
#include "app/controllers/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/controllers/operand_file.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

engine::TensorEntry values(const std::string& name, std::vector<std::int64_t> shape) {
  engine::TensorEntry tensor;
  tensor.name = name;
  tensor.dtype = "F32";
  tensor.shape = std::move(shape);
  tensor.usable = true;
  return tensor;
}
engine::TensorEntry counts(const std::string& name, std::int64_t experts) {
  engine::TensorEntry tensor;
  tensor.name = name;
  tensor.dtype = "I64";
  tensor.shape = {experts};
  tensor.integers = true;
  return tensor;
}

std::string words(const std::vector<engine::TensorEntry>& tensors) {
  const auto parts = dump_of_tensors("d.safetensors", tensors);
  return parts.empty() ? "" : dump_words(parts);
}

TEST(Dump, UsualNamesSayWhatATensorIs) {
  EXPECT_EQ(words({values("dy", {8, 4}), values("w", {2, 4, 4}), counts("splits", 2),
                   values("x", {8, 4})}),
            "X, W, dY, splits");
  EXPECT_EQ(words({values("layers.0.input", {8, 4}), values("layers.0.weight", {2, 4, 4}),
                   values("layers.0.grad_output", {8, 4}), counts("tokens_per_expert", 2)}),
            "X, W, dY, splits");
  const auto folder =
      dump_of_folder("/d", {"x.npy", "w.npy", "dy.npy", "splits.npy", "notes.json"});
  ASSERT_EQ(folder.size(), 4U);
  EXPECT_EQ(dump_words(folder), "X, W, dY, splits");
  EXPECT_EQ(folder.back().path, "/d/dy.npy");
}

TEST(Dump, OneNameAloneOrTwoOfAKindSayNothing) {
  EXPECT_EQ(words({values("x", {8, 4}), values("other", {8, 4})}), "");
  EXPECT_EQ(words({values("layers.0.input", {8, 4}), values("layers.1.input", {8, 4}),
                   values("w", {2, 4, 4})}),
            "");
  // Floating-point values are no rows per expert, and integers no operand.
  EXPECT_EQ(words({values("splits", {2, 4}), counts("x", 8), values("w", {2, 4, 4})}), "");
  EXPECT_THAT(dump_of_folder("/d", {"x.npy", "y.npy"}), IsEmpty());
}

TEST(Dump, ALoneFileOffersTheFilesBesideItThatAreOneStepWithIt) {
  FileReport report{.path = "/d/x.npy", .error = {}, .tensors = {values("", {8, 4})}};
  EXPECT_THAT(dump_of(report), IsEmpty());
  report.neighbours = {"dy.npy", "notes.npy", "splits.npy", "w.npy", "x.npy"};
  EXPECT_EQ(dump_words(dump_of(report)), "X, W, dY, splits");
  EXPECT_EQ(dump_of(report).back().path, "/d/dy.npy");
  // A file that none of the names is about stays alone.
  report.path = "/d/notes.npy";
  EXPECT_THAT(dump_of(report), IsEmpty());
  // A worker names files of the folder, and no others.
  report.path = "/d/x.npy";
  report.neighbours = {"../w.npy", "../layers.input.npy", "x.npy"};
  EXPECT_THAT(dump_of(report), IsEmpty());
}

/// Answers every question of the reading.
class DumpFit : public ::testing::Test {
 protected:
  engine::Result<engine::RunRequest> fit() {
    DumpReading reading(parts_for(dump_of_tensors("d.safetensors", tensors_), request_));
    while (const std::optional<FileQuestion> question = reading.next()) {
      FileReport report{.path = question->path, .error = {}, .tensors = {}};
      report.asked = question->routing;
      if (question->routing) {
        report.routing = facts_;
      } else {
        report.tensors = tensors_;
      }
      EXPECT_FALSE(reading.take(FileReport{.path = "other", .error = {}, .tensors = {}}));
      EXPECT_TRUE(reading.take(report));
    }
    return reading.fitted(request_);
  }

  engine::RunRequest request_;
  std::vector<engine::TensorEntry> tensors_ = {values("x", {96, 64}), values("w", {3, 128, 64}),
                                               values("dy", {96, 128}), counts("splits", 3)};
  engine::RoutingFacts facts_ = facts();

 private:
  static engine::RoutingFacts facts() {
    engine::RoutingFacts facts;
    facts.steps = 1;
    facts.file_steps = 1;
    facts.experts = 3;
    facts.largest_step = 96;
    return facts;
  }
};

TEST_F(DumpFit, FillsEveryOperandTheRoutingAndTheSizes) {
  const auto fitted = fit();
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  engine::RunRequest request = fitted.value();
  EXPECT_EQ(request.shape.rows, 96);
  EXPECT_EQ(request.shape.k, 64);
  EXPECT_EQ(request.shape.n, 128);
  EXPECT_EQ(request.shape.num_experts, 3);
  EXPECT_EQ(request.routing.tensor, "splits");
  EXPECT_EQ(request.products.passes, engine::StepPasses::ForwardBackward);  // reads dY
  for (const auto& [operand, name] :
       {std::pair{RequestOperand::X, "x"}, {RequestOperand::W, "w"}, {RequestOperand::DY, "dy"}}) {
    EXPECT_EQ(std::get<engine::FileInput>(input_of(request, operand)).tensor, name);
  }
  EXPECT_TRUE(uses_all(request, dump_of_tensors("d.safetensors", tensors_)));
  EXPECT_FALSE(uses_all(request_, dump_of_tensors("d.safetensors", tensors_)));
}

TEST_F(DumpFit, WeightsInTwoDimensionsHaveTheExpertsOfTheRouting) {
  tensors_[1] = values("w", {3 * 128, 64});
  const auto fitted = fit();
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(fitted.value().shape.n, 128);
  EXPECT_EQ(fitted.value().shape.num_experts, 3);
}

TEST_F(DumpFit, TheTensorThatDoesNotFitIsNamed) {
  tensors_[2] = values("dy", {96, 100});
  EXPECT_THAT(fit().error().message,
              HasSubstr("dy of d.safetensors: [96, 100] does not fit w of d.safetensors: N"));
  tensors_[2] = values("dy", {96, 128});
  facts_.largest_step = 90;
  EXPECT_THAT(fit().error().message,
              HasSubstr("x of d.safetensors: [96, 64] does not fit splits of d.safetensors"));
  facts_.largest_step = 96;
  tensors_[0] = values("x", {4, 4, 4});
  EXPECT_THAT(fit().error().message, HasSubstr("x of d.safetensors: its shape is [4, 4, 4]"));
}

TEST(OperandFile, TheFirstTensorThatFitsIsPreselected) {
  FileReport report{
      .path = "d.safetensors",
      .error = {},
      .tensors = {values("scale", {4}), values("a", {512, 256}), values("b", {64, 32})}};
  engine::RunRequest request;
  request.activations = engine::FileInput{report.path, {}};
  auto fitted = fitted_to_file(request, RequestOperand::X, report);
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(std::get<engine::FileInput>(fitted.value().activations).tensor, "a");
  EXPECT_EQ(fitted.value().shape.rows, 512);
  report.tensors.push_back(values("x", {96, 64}));
  report.tensors.push_back(values("w", {3, 128, 64}));
  fitted = fitted_to_file(request, RequestOperand::X, report);
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(std::get<engine::FileInput>(fitted.value().activations).tensor, "x");
}

}  // namespace
}  // namespace app
