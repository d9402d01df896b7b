// The table of controls against the description of the request: nothing that can be set is without
// a control, and no choice of one is missing.
#include "app/controllers/request_controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/controllers/field_words.h"
#include "app/controllers/request_actions.h"
#include "engine/gemm/support.h"
#include "engine/model/leaves.h"

namespace app {
namespace {

using engine::RunRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(RequestControls, EverySettingHasOneButTextsAndFiles) {
  std::set<std::string> without;
  for (const engine::Leaf& leaf : engine::leaves_of(engine::kType<RunRequest>)) {
    without.insert(leaf.path);
  }
  std::set<std::string> ids;
  for (const RequestControl& control : request_controls()) {
    EXPECT_EQ(without.erase(control.field), 1U) << control.field << " of " << control.id;
    EXPECT_TRUE(ids.insert(control.id).second) << control.id;
  }
  EXPECT_THAT(without, UnorderedElementsAre(
                           "shape.preset", "routing.path", "routing.tensor",
                           "activations.file.path", "activations.file.tensor", "weights.file.path",
                           "weights.file.tensor", "products.gradients.file.path",
                           "products.gradients.file.tensor", "expert_layer.down_weights.file.path",
                           "expert_layer.down_weights.file.tensor", "cublaslt_library"));
}

TEST(RequestControls, EveryEnumeratorThatARequestMayHaveIsAChoice) {
  for (const RequestControl& control : request_controls()) {
    const engine::FoundLeaf leaf =
        engine::find_leaf(engine::kType<RunRequest>, nullptr, control.field);
    if (leaf.type->kind != engine::Kind::Enum) continue;
    for (const engine::EnumName& entry : leaf.type->names) {
      RunRequest request;
      set_control_value(control, request, entry.value);
      // A request with an element type that products do not have is refused.
      const engine::Status valid = engine::validate(request);
      const bool allowed = valid.ok() || valid.error().field != control.field;
      EXPECT_EQ(chosen_index(control, request) >= 0, allowed) << control.id << " " << entry.name;
    }
  }
}

TEST(RequestControls, ARefusalNamesTheFieldOfItsControl) {
  RunRequest request;
  set_control_value(request_control("shape.n"), request, std::int64_t{17});
  EXPECT_EQ(engine::validate(request).error().field, request_control("shape.n").field);
  request = {};
  const RequestControl& layers = request_control("engine.layers");
  set_control_value(layers, request, static_cast<std::int64_t>(control_range(layers).high) + 1);
  EXPECT_EQ(engine::validate(request).error().field, layers.field) << "one past the limit";
}

TEST(RequestControls, RangesFollowTheLimits) {
  const auto range = [](const char* id) { return control_range(request_control(id)); };
  EXPECT_EQ(range("shape.experts").low, 1);
  EXPECT_EQ(range("shape.experts").high, engine::kMaxExperts);
  EXPECT_EQ(range("shape.experts").reset, 8);
  EXPECT_EQ(range("shape.rows").low, 0);
  EXPECT_EQ(range("recipe.margin").low, -engine::kMaxMargin);
  EXPECT_EQ(range("recipe.margin").high, engine::kMaxMargin);
  EXPECT_EQ(range("recipe.history").low, 1);
  EXPECT_EQ(range("engine.deadline_factor").low, 0);
  EXPECT_EQ(range("engine.deadline_factor").reset, 20);
  EXPECT_EQ(range("input.seed").high, 9'999'999);
  EXPECT_EQ(range("engine.time_limit").low, 0.1);
  EXPECT_TRUE(is_real(request_control("engine.time_limit")));
  EXPECT_FALSE(is_real(request_control("engine.iterations")));
}

/// Two runs that a control tells apart must not carry one name.
TEST(RequestControls, TheSummaryNamesEveryChangeThatHasAnEffect) {
  RunRequest base;
  base.recipe.scaling = engine::Scaling::Nvfp4;
  base.products.passes = engine::StepPasses::ForwardBackward;
  base.backend = engine::GemmBackend::CublasLtGrouped;
  base.launch.kind = engine::LaunchKind::GraphReplay;
  RunRequest layer = base;
  layer.step = engine::StepKind::ExpertLayer;
  layer.expert_layer.mixed_recipes = true;
  layer.recipe.scaling = engine::Scaling::Block;
  for (const RunRequest& from : {base, layer}) {
    int changes = 0;
    for (const RequestControl& control : request_controls()) {
      RunRequest changed = from;
      const auto high = static_cast<std::int64_t>(control_range(control).high);
      if (control.options.choices.empty()) {
        const std::int64_t now = control_number(control, from);
        const bool is_switch = control.kind == ControlKind::Switch;
        set_control_value(control, changed, is_switch ? 1 - now : now == high ? 3 : now + 1);
      } else {
        const int other = chosen_index(control, from) == 0 ? 1 : 0;
        set_control_value(control, changed,
                          control.options.choices[static_cast<std::size_t>(other)].value);
      }
      if (changed == from || !engine::inapplicable_reason(control.field, from).empty()) continue;
      EXPECT_NE(summary_of(changed), summary_of(from)) << control.id;
      ++changes;
    }
    EXPECT_GT(changes, 30);
  }
  RunRequest mixed = layer;
  mixed.recipe.scaling = engine::Scaling::None;
  mixed.expert_layer.down_scaling = engine::Scaling::Block;
  EXPECT_THAT(summary_of(mixed), ::testing::HasSubstr("up BF16, down FP8 block E4M3"));
  mixed.recipe.activation_format = engine::Fp8Format::E5m2;
  EXPECT_THAT(summary_of(mixed), ::testing::HasSubstr("up BF16, down FP8 block E5M2"));
  RunRequest timed = base;
  timed.launch.median_within = 1.0;
  timed.launch.time_limit_s = 2.5;
  EXPECT_THAT(summary_of(timed), ::testing::HasSubstr("Time limit, s 2.5"));
  RunRequest file = base;
  file.activations = engine::FileInput{.path = "/data/acts.safetensors", .tensor = "mlp.x"};
  EXPECT_THAT(summary_of(file), ::testing::StartsWith("X acts.safetensors:mlp.x · "));
  file = base;
  file.products.gradients = engine::FileInput{.path = "dy.npy", .tensor = ""};
  EXPECT_THAT(summary_of(file), ::testing::HasSubstr("dY dy.npy"));
  file.routing = {.distribution = engine::RoutingDistribution::File, .path = "/data/s.json"};
  EXPECT_THAT(summary_of(file), ::testing::HasSubstr("splits s.json"));
  EXPECT_THAT(summary_of(base), ::testing::HasSubstr(" · Both"));
  RunRequest down = layer;
  down.expert_layer.down_weights = engine::FileInput{.path = "/data/d.npy", .tensor = ""};
  EXPECT_THAT(summary_of(down), ::testing::StartsWith("Wdown d.npy · "));
  // In a list, what all of them share says nothing.
  const RunRequest* const both[] = {&base, &file};
  const std::vector<std::string> names = summaries_of(both);
  EXPECT_EQ(names[0], "NVFP4 · Uniform");
  EXPECT_THAT(names[1], "dY dy.npy · splits s.json · NVFP4 · From a file");
  RunRequest block = base;
  block.recipe.scaling = engine::Scaling::Block;
  RunRequest again = block;
  again.recipe.pow2_scales = !block.recipe.pow2_scales;
  const RunRequest* const scales[] = {&block, &again};
  const RunRequest* const recipes[] = {&block, &base};
  EXPECT_THAT(summaries_of(recipes), ElementsAre("FP8 block", "NVFP4"));
  EXPECT_THAT(summaries_of(scales),
              ElementsAre("FP8 block, power-of-two scales", "FP8 block, FP32 scales"));
}

TEST(RequestControls, TitlesOfAListKeepOnlyWhatTellsItsRunsApart) {
  engine::RunRequest block;
  block.recipe.scaling = engine::Scaling::Block;
  block.seed = 7;
  engine::RunRequest bf16 = block;
  bf16.recipe.scaling = engine::Scaling::None;
  engine::RunRequest first = block;
  first.seed = 1;
  const engine::RunRequest* const recipes[] = {&block, &bf16};
  const std::vector<std::string> two = titles_of(recipes);
  EXPECT_THAT(two[0], ::testing::Not(::testing::HasSubstr("Seed")));
  EXPECT_THAT(two[0], ::testing::Not(::testing::HasSubstr("eager")));
  EXPECT_THAT(two[0], ::testing::HasSubstr("FP8 block"));
  EXPECT_NE(two[0], two[1]);
  // Where nothing else is different the setting stays.
  const engine::RunRequest* const seeds[] = {&block, &bf16, &first};
  const std::vector<std::string> three = titles_of(seeds);
  EXPECT_THAT(three[0], ::testing::HasSubstr("7"));
  EXPECT_NE(three[0], three[2]);
}

TEST(RequestControls, RunsOfASweepAreCalledByWhatDistinguishesThem) {
  engine::RunRequest block;
  block.recipe.scaling = engine::Scaling::Block;
  engine::RunRequest bf16 = block;
  bf16.recipe.scaling = engine::Scaling::None;
  const std::vector<const engine::RunRequest*> recipes = {&block, &bf16};
  EXPECT_THAT(sweep_names(recipes), ElementsAre("FP8 block, power-of-two scales", "BF16"));
  engine::RunRequest other = bf16;
  block.backend = engine::GemmBackend::CublasLtGrouped;
  other.backend = engine::GemmBackend::CpuReference;
  other.workspace = engine::WorkspaceStrategy::PerLayout;
  other.routing.distribution = engine::RoutingDistribution::OneHot;
  block.recipe.pow2_scales = false;
  const std::vector<const engine::RunRequest*> all = {&block, &other};
  const std::vector<std::string> names = sweep_names(all);
  EXPECT_THAT(names[0],
              StartsWith("FP8 block, FP32 scales, cuBLASLt grouped, workspace Per matmul"));
  EXPECT_THAT(names[1], StartsWith("BF16, CPU reference, workspace Per layout, "));
  EXPECT_THAT(sweep_names({}), ElementsAre());
}

TEST(RequestControls, GroupsOfASweepAreCalledByTheNumbersTheyShare) {
  std::vector<engine::RunRequest> requests(4);
  for (std::size_t i = 0; i < 4; ++i) {
    requests[i].shape.rows = i < 2 ? 256 : 512;
    requests[i].launch.iterations = i % 2 == 0 ? 10 : 20;  // within each group
  }
  const std::vector<const engine::RunRequest*> all = {&requests[0], &requests[1], &requests[2],
                                                      &requests[3]};
  EXPECT_THAT(group_names(all, std::vector<std::size_t>{0, 0, 1, 1}),
              ElementsAre("Rows 256", "Rows 512"));
  EXPECT_THAT(group_names(all, std::vector<std::size_t>{0, 0, 0, 0}), ElementsAre(""));
  // No number tells these apart.
  requests[2] = requests[0];
  requests[2].step = engine::StepKind::ExpertLayer;
  const std::vector<std::string> steps =
      group_names(std::vector<const engine::RunRequest*>{&requests[0], &requests[2]},
                  std::vector<std::size_t>{0, 1});
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_FALSE(steps[0].empty());
}

TEST(RequestControls, ARailShowsWhatTheStepHasAndWhatIsChanged) {
  RunRequest request;
  request.backend = engine::GemmBackend::CpuReference;
  const auto usual = [&](const char* id) {
    return is_usual(request_control(id), request, /*comparing=*/false);
  };
  EXPECT_TRUE(usual("shape.rows"));
  EXPECT_FALSE(differs_from_default(request_control("shape.rows"), request));
  // Without an effect, and seldom changed.
  EXPECT_FALSE(usual("engine.workspace"));
  EXPECT_FALSE(usual("engine.layers"));
  request.layers = 2;
  EXPECT_TRUE(usual("engine.layers"));
  EXPECT_TRUE(differs_from_default(request_control("engine.layers"), request));
  // A change without an effect is not shown for that.
  request.workspace = engine::WorkspaceStrategy::Shared;
  EXPECT_FALSE(usual("engine.workspace"));
  EXPECT_FALSE(usual("recipe.hadamard"));
  EXPECT_TRUE(is_usual(request_control("recipe.hadamard"), request, /*comparing=*/true));
  // Values of a file are no default, whatever they are.
  request.activations = engine::FileInput{.path = "x.npy", .tensor = ""};
  EXPECT_TRUE(differs_from_default(request_control("activations.source"), request));
  EXPECT_FALSE(usual("gradients.source"));
  request.products.gradients = engine::FileInput{.path = "dy.npy", .tensor = ""};
  EXPECT_TRUE(usual("gradients.source"));
  EXPECT_FALSE(usual("gradients.element"));
}

TEST(FieldWords, AMessageHasTheRailsLabelsInPlaceOfPaths) {
  engine::ComparisonRequest order;
  order.request.routing.distribution = engine::RoutingDistribution::File;
  const engine::Status status = engine::validate(order);
  ASSERT_FALSE(status.ok());
  const std::string said = in_rail_words(status.error().message);
  EXPECT_THAT(said, testing::StartsWith("Routing: file is empty, but routing is read from a file"));
  EXPECT_EQ(in_rail_words("shape.n is 17; set shape.n to 32."), "N is 17; set N to 32.");
  // A step of another name, and a file's.
  EXPECT_EQ(in_rail_words("shape.nn and /a/shape.n"), "shape.nn and /a/shape.n");
}

/// What people read: no name of a field, no name of an enumerator.
TEST(RequestControls, SettingsAreSaidInWords) {
  EXPECT_EQ(setting_label("recipe.pow2_scales"), "Power-of-two scales");
  EXPECT_EQ(setting_value("recipe.pow2_scales", "false"), "off");
  EXPECT_EQ(setting_label("shape.num_experts"), "Experts");
  // The CPU reference names the launch as a whole.
  EXPECT_EQ(setting_label("launch"), "Launch");
  EXPECT_EQ(setting_value("launch", "graph-replay"), "Graph");
  EXPECT_EQ(setting_value("measure.pace", "sustained"), "Sustained");
  EXPECT_EQ(setting_value("measure.pace", "no such pace"), "no such pace");
  EXPECT_EQ(setting_label("activations.file.path"), "X: file");
  EXPECT_EQ(setting_label("expert_layer.down_weights.file.path"), "Wdown: file");
  EXPECT_EQ(setting_label("products.gradients"), "dY");
  EXPECT_EQ(setting_label("routing.path"), "Routing: file");
  EXPECT_EQ(setting_value("routing.path", "/data/a_b.json"), "/data/a_b.json");
  for (const engine::Leaf& leaf : engine::leaves_of(engine::kType<RunRequest>)) {
    EXPECT_EQ(setting_label(leaf.path).find('_'), std::string::npos) << leaf.path;
  }
  const RunRequest defaults;
  for (const RequestControl& control : request_controls()) {
    for (const ControlChoice& choice : control.options.choices) {
      const engine::FoundLeaf leaf =
          engine::find_leaf(engine::kType<RunRequest>, &defaults, control.field);
      for (const engine::EnumName& name : leaf.type->names) {
        if (name.value != choice.value) continue;
        EXPECT_EQ(setting_value(control.field, name.name), choice.label) << control.id;
      }
    }
  }
}

TEST(RequestControls, ACopyWithAnotherLabelIsTheSameControl) {
  const RequestControl& iterations = request_control("engine.iterations");
  RequestControl relabelled = iterations;
  relabelled.label = "Steps";
  EXPECT_EQ(control_range(relabelled).high, control_range(iterations).high);
  RequestControl launch = request_control("engine.launch");
  EXPECT_THAT(choice_labels(launch), ::testing::ElementsAre("Eager", "Graph"));
}

TEST(RequestControls, AChoiceTakesAnOperandBackFromItsFile) {
  RunRequest request;
  request.activations = engine::FileInput{.path = "/x.npy", .tensor = ""};
  const RequestControl& source = request_control("activations.source");
  EXPECT_EQ(chosen_index(source, request), -1);
  EXPECT_EQ(control_number(request_control("activations.element"), request), 0);
  set_control_value(source, request, std::int64_t{3});
  EXPECT_EQ(request.activations,
            engine::InputSpec(engine::SyntheticInput{engine::Distribution::Zeros}));
}

TEST(RequestActions, OfAnExpertLayerAreRefusedForALinearStep) {
  const LinkSupervisor link({}, [] {});
  RunRequest request;
  int refused = 0;
  for (const RequestAction& action : request_actions(request, {})) {
    if (!action.field.starts_with("expert_layer.") || action.chosen) continue;
    EXPECT_THAT(refusal_of(action, request, link), HasSubstr("choose the expert layer"));
    ++refused;
  }
  EXPECT_GT(refused, 20);
  request.step = engine::StepKind::ExpertLayer;
  for (const RequestAction& action : request_actions(request, {})) {
    if (action.id == "step.activation.7") {
      EXPECT_EQ(action.title, "Activation: GELU");
      EXPECT_EQ(refusal_of(action, request, link), "");
    }
    if (action.id == "recipe.down_scaling.4") {
      EXPECT_THAT(refusal_of(action, request, link), HasSubstr("mixed recipes"));
    }
  }
}

TEST(RequestControls, LargeSeedsKeepEveryBit) {
  RunRequest request;
  request.seed = (std::uint64_t{1} << 60) + 1;
  EXPECT_EQ(control_number(request_control("input.seed"), request), (std::int64_t{1} << 60) + 1);
}

TEST(RequestActions, HaveTheChoicesOfTheTableAndTheReasonsOfTheEngine) {
  RunRequest request;
  request.recipe.scaling = engine::Scaling::Mxfp8;
  request.recipe.pow2_scales = false;
  const LinkSupervisor link({}, [] {});
  std::set<std::string> ids;
  for (const RequestAction& action : request_actions(request, {})) {
    EXPECT_TRUE(ids.insert(action.id).second) << action.id;
    const std::string why = refusal_of(action, request, link);
    if (action.id == "recipe.pow2") {
      EXPECT_EQ(action.title, "Power-of-two scales: on");
      EXPECT_EQ(why, engine::inapplicable_reason("recipe.pow2_scales", request));
    }
    if (action.id == "recipe.scaling.4") {
      EXPECT_TRUE(action.chosen);
      EXPECT_EQ(action.title, "Recipe: MXFP8");
    }
    if (action.id == "activations.source.2") {
      RunRequest changed = request;
      action.change(changed);
      EXPECT_EQ(changed.activations,
                engine::InputSpec(engine::SyntheticInput{engine::Distribution::HeavyTailed}));
      EXPECT_EQ(why, "");
    }
    if (action.id == "gradients.source.2") {
      EXPECT_THAT(why, HasSubstr("no backward pass"));
    }
  }
  EXPECT_TRUE(ids.contains("engine.splits.1"));
  EXPECT_TRUE(ids.contains("measure.cache.1"));
  EXPECT_FALSE(ids.contains("routing.distribution.6")) << "a file is no choice of the palette";
}

}  // namespace
}  // namespace app
