// What the steps of a tour run: each differs from the one before, the first from the defaults.
#include "app/controllers/tour_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "engine/input/value_json.h"

namespace app {
namespace {

using ::testing::HasSubstr;

TourStep step(const std::string& name, const std::string& patch) {
  TourStep made;
  made.name = name;
  made.request_patch = patch;
  return made;
}

const std::vector<engine::ShapePreset> kNoPresets;

TEST(TourScript, AStepDiffersFromTheStepsBeforeIt) {
  TourScript script;
  script.steps = {step("1", R"({"recipe": {"scaling": "mxfp8"}, "layers": 2})"), step("2", ""),
                  step("3", R"({"seed": 9, "activations": {"file": {"path": "x.npy"}}})"),
                  step("4", R"({"activations": {"synthetic": {"distribution": "uniform"}}})")};
  engine::RunRequest expected;
  expected.recipe.scaling = engine::Scaling::Mxfp8;
  expected.layers = 2;
  EXPECT_EQ(request_of_step(script, 0, kNoPresets).value(), expected);
  EXPECT_EQ(request_of_step(script, 1, kNoPresets).value(), expected);
  expected.seed = 9;
  expected.activations = engine::FileInput{.path = "x.npy", .tensor = {}};
  EXPECT_EQ(request_of_step(script, 2, kNoPresets).value(), expected);
  expected.activations = engine::SyntheticInput{.distribution = engine::Distribution::Uniform};
  EXPECT_EQ(request_of_step(script, 3, kNoPresets).value(), expected);
}

TEST(TourScript, AWrongStepIsNamed) {
  TourScript script;
  script.steps = {step("good", "{}"), step("bad", R"({"recipe": {"pow2": true}})"),
                  step("later", "{}")};
  EXPECT_TRUE(request_of_step(script, 0, kNoPresets).ok());
  for (const std::size_t index : {1, 2}) {
    const auto request = request_of_step(script, index, kNoPresets);
    ASSERT_FALSE(request.ok());
    EXPECT_THAT(request.error().message, HasSubstr("tour step bad: recipe has no field 'pow2'"));
  }
  script.steps[1] = step("small", "{}");
  script.steps[1].preset = "Nothing";
  EXPECT_THAT(request_of_step(script, 1, kNoPresets).error().message, HasSubstr("tour step small"));
}

/// What load_tour() makes of a file with this text.
engine::Result<TourScript> loaded(const std::string& text) {
  const std::string path =
      ::testing::TempDir() + "expertscope_tour_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << text;
  engine::Result<TourScript> script = load_tour(path);
  std::remove(path.c_str());
  return script;
}

TEST(TourScript, ARecordingOfRoutingIsKnownByTheNameOfItsList) {
  for (const std::string name :
       {"logical_count", "routed_experts", "tokens_per_expert", "splits", "layer_0.router"}) {
    const auto script = loaded("{\"rank\": 0, \"" + name + "\": [[3, 1], [0, 4]]}");
    ASSERT_TRUE(script.ok()) << name << ": " << script.error().message;
    EXPECT_TRUE(script.value().routing.has_value()) << name;
  }
  // Neither a request nor a tour is one, whatever its members are called.
  const auto request = loaded(engine::to_json_text(engine::RunRequest()));
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_TRUE(request.value().request.has_value());
  TourScript tour;
  tour.steps = {step("layer", "{}")};
  EXPECT_FALSE(loaded(tour_text(tour)).value().steps.empty());
  EXPECT_FALSE(loaded(R"({"layers": 2})").value().routing.has_value()) << "no list";
}

}  // namespace
}  // namespace app
