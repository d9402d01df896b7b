// The shipped presets load, are valid, and hold the dimensions of their models; a broken file is
// refused by name.
#include "engine/input/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace engine {
namespace {

using testing::HasSubstr;

TEST(Presets, ShippedOnesLoadWithTheirModelsDimensions) {
  const auto presets = load_presets(EXPERTSCOPE_SHAPES);
  ASSERT_TRUE(presets.ok()) << presets.error().message;
  std::map<std::string, ShapeSpec> shapes;
  int laptops = 0;
  for (const ShapePreset& preset : presets.value()) {
    EXPECT_TRUE(shapes.emplace(preset.name, preset.shape).second) << "twice: " << preset.name;
    EXPECT_EQ(preset.shape.preset, preset.name);
    EXPECT_FALSE(preset.description.empty());
    laptops += preset.laptop ? 1 : 0;
    if (preset.laptop) {
      EXPECT_LE(preset.shape.rows * preset.shape.n * preset.shape.k, std::int64_t{1} << 30);
    }
  }
  EXPECT_EQ(shapes.size(), 20U);
  EXPECT_EQ(laptops, 5);
  const auto expect = [&](const char* name, int experts, std::int64_t tokens, std::int64_t n,
                          std::int64_t k) {
    EXPECT_EQ(shapes[name],
              (ShapeSpec{.preset = name, .num_experts = experts, .rows = tokens, .n = n, .k = k}));
  };
  expect("Mixtral 8x7B up", 8, 16384, 28672, 4096);
  expect("Mixtral 8x7B down", 8, 16384, 4096, 14336);
  expect("DeepSeek-V3 up, 8 experts", 8, 32768, 4096, 7168);
  expect("DeepSeek-V3 down, 32 experts", 32, 32768, 7168, 2048);
  expect("Qwen3-30B-A3B up", 128, 65536, 1536, 2048);
  expect("gpt-oss-120b down", 128, 65536, 2880, 2880);
  expect("Laptop small", 8, 1024, 512, 512);
  // A layer has the shape of its up projection: gate and up in one product.
  expect("Mixtral 8x7B layer", 8, 16384, 28672, 4096);
  expect("DeepSeek-V3 layer, 32 experts", 32, 32768, 4096, 7168);
  expect("gpt-oss-120b layer", 128, 65536, 5760, 2880);
}

TEST(Presets, OfAWholeLayerSetStepActivationAndBias) {
  const auto presets = load_presets(EXPERTSCOPE_SHAPES);
  ASSERT_TRUE(presets.ok()) << presets.error().message;
  const auto apply = [&](const char* name, RunRequest& request) {
    const Result<ShapePreset> preset = find_preset(presets.value(), name);
    ASSERT_TRUE(preset.ok()) << preset.error().message;
    apply_preset(preset.value(), request);
    EXPECT_TRUE(validate(request).ok());
  };
  RunRequest request;
  apply("gpt-oss-120b layer", request);
  EXPECT_EQ(request.step, StepKind::ExpertLayer);
  EXPECT_EQ(request.expert_layer.activation, LayerActivation::ClampedSwiGlu);
  EXPECT_TRUE(request.products.bias);
  apply("Mixtral 8x7B layer", request);
  EXPECT_EQ(request.step, StepKind::ExpertLayer);
  EXPECT_EQ(request.expert_layer.activation, LayerActivation::SwiGlu);
  EXPECT_FALSE(request.products.bias);
  // What divides the rows of one preset may not divide those of the next.
  request.expert_layer.top_k = 5;
  apply("Qwen3-30B-A3B layer", request);
  EXPECT_EQ(request.expert_layer.top_k, 0);
  apply("Mixtral 8x7B layer", request);
  // Its projections are linear steps, which keep what the request says of bias.
  request.products.bias = true;
  apply("Mixtral 8x7B up", request);
  EXPECT_EQ(request.step, StepKind::Linear);
  EXPECT_EQ(request.shape.preset, "Mixtral 8x7B up");
  EXPECT_TRUE(request.products.bias);
}

class PresetFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder_;
};

TEST(Presets, OfAWholeLayerKnowTheExpertsOfAToken) {
  const auto presets = load_presets(EXPERTSCOPE_SHAPES);
  ASSERT_TRUE(presets.ok()) << presets.error().message;
  for (const ShapePreset& preset : presets.value()) {
    EXPECT_EQ(preset.top_k > 0, preset.step == StepKind::ExpertLayer) << preset.name;
  }
  const auto top_k = [&](const char* name) {
    return find_preset(presets.value(), name).value().top_k;
  };
  EXPECT_EQ(top_k("Mixtral 8x7B layer"), 2);
  EXPECT_EQ(top_k("gpt-oss-120b layer"), 4);
  EXPECT_EQ(top_k("DeepSeek-V3 layer, 32 experts"), 8);
}

TEST(Presets, ANameStandsOnlyBesideItsOwnSizesAndStep) {
  const auto presets = load_presets(EXPERTSCOPE_SHAPES).value();
  RunRequest named;
  apply_preset(find_preset(presets, "Laptop tiny").value(), named);
  const auto settled = [&](RunRequest request) {
    EXPECT_TRUE(reconcile_preset_name(presets, request).ok());
    return request.shape.preset;
  };
  EXPECT_EQ(settled(named), "Laptop tiny");
  RunRequest spelled = named;
  spelled.shape.preset = "laptop-tiny";
  EXPECT_EQ(settled(spelled), "Laptop tiny");
  for (std::int64_t ShapeSpec::* const size : {&ShapeSpec::rows, &ShapeSpec::n, &ShapeSpec::k}) {
    RunRequest other = named;
    other.shape.*size *= 2;
    EXPECT_EQ(settled(other), "");
  }
  RunRequest experts = named;
  ++experts.shape.num_experts;
  EXPECT_EQ(settled(experts), "");
  RunRequest step = named;
  step.step = StepKind::ExpertLayer;
  EXPECT_EQ(settled(step), "");
  EXPECT_EQ(settled(RunRequest()), "");
  RunRequest unknown = named;
  unknown.shape.preset = "foo";
  const Status refused = reconcile_preset_name(presets, unknown);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("there is no preset 'foo'"));
  EXPECT_EQ(refused.error().field, "shape.preset");
}

TEST_F(PresetFolder, IsSortedByFileNameAndSkipsOtherFiles) {
  const char* fields = R"("description":"","num_experts":2,"rows":32,"n":16,"k":16})";
  write("b.json", std::string(R"({"name":"first",)") + fields);
  write("c.json", std::string(R"({"name":"second","laptop":true,)") + fields);
  write("a.txt", "not a preset");
  const auto presets = load_presets(folder_.string());
  ASSERT_TRUE(presets.ok()) << presets.error().message;
  ASSERT_EQ(presets.value().size(), 2U);
  EXPECT_EQ(presets.value()[0].name, "first");
  EXPECT_FALSE(presets.value()[0].laptop);
  EXPECT_TRUE(presets.value()[1].laptop);
}

TEST_F(PresetFolder, NamesAFileThatCannotBeOpenedOnce) {
  const std::string path = (folder_ / "gone.json").string();
  std::filesystem::create_symlink("nowhere", path);
  EXPECT_EQ(load_presets(folder_.string()).error().message,
            "shape preset " + path + " cannot be opened: No such file or directory");
}

TEST_F(PresetFolder, NamesTheBrokenFileAndTheValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "not JSON"},
      {R"({"description":"","num_experts":2,"rows":32,"n":16,"k":16})", "name"},
      {R"({"name":"x","description":"","num_experts":2,"rows":32,"n":16})", "'k'"},
      {R"({"name":"x","description":"","num_experts":2,"rows":-5,"n":16,"k":16})", "'rows'"},
      {R"({"name":"x","description":"","num_experts":2,"rows":32,"n":100,"k":16})", "n is 100"},
      {R"({"name":"x","description":"","step":"layer","num_experts":2,"rows":32,"n":16,"k":16})",
       "'step' must be one of linear, expert-layer"},
      {R"({"name":"x","description":"","step":"expert-layer","num_experts":2,"rows":32,"n":16,)"
       R"("k":16})",
       "use 32"},
      {R"({"name":"x","description":"","bias":1,"num_experts":2,"rows":32,"n":16,"k":16})",
       "'bias'"},
      {R"({"name":"x","description":"","step":"expert-layer","top_k":3,"num_experts":4,"rows":32,)"
       R"("n":32,"k":16})",
       "top_k 3"},
      {R"({"name":"x","description":"","top_k":65,"num_experts":2,"rows":32,"n":16,"k":16})",
       "'top_k'"},
      {R"({"name":"x","description":"","num_experts":5000,"rows":32,"n":16,"k":16})", "5000"},
  };
  for (const auto& [text, word] : cases) {
    write("broken.json", text);
    const auto presets = load_presets(folder_.string());
    ASSERT_FALSE(presets.ok()) << text;
    EXPECT_THAT(presets.error().message, HasSubstr("broken.json"));
    EXPECT_THAT(presets.error().message, HasSubstr(word));
  }
}

TEST(Presets, MissingFolderIsAnError) { EXPECT_FALSE(load_presets("/nowhere/shapes").ok()); }

}  // namespace
}  // namespace engine
