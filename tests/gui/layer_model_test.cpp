// The picture of an expert layer, the costs of its quantizations, and the memory of the recipes,
// from a run made by hand.
#include "app/plot/layer_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "app/gui/panels/numerics_model.h"
#include "app/plot/kept_room.h"
#include "app/plot/layer_arrows.h"
#include "app/plot/ledger_owner.h"

namespace {

using app::LayerModel;
using app::LayerPlace;
using engine::Stage;
using engine::StepTensor;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

/// The SNR of Y with these left unquantized, one at a time.
void set_sources(engine::RunResult& result,
                 const std::vector<std::pair<StepTensor, double>>& sources) {
  for (engine::TensorResult& row : result.tensors) row.unquantized_y.reset();
  for (const auto& [tensor, snr_db] : sources) {
    engine::tensor_row(result, tensor).unquantized_y = {.snr_db = snr_db};
  }
}

/// Y has 30 dB; leaving A unquantized would give 34, X 30.5.
profiling::RecordedRun layer_run(bool backward, bool tokens = false) {
  profiling::RecordedRun run;
  engine::RunResult& result = run.result;
  result.effective.step = engine::StepKind::ExpertLayer;
  result.effective.shape = {.preset = {}, .num_experts = 2, .rows = 96, .n = 128, .k = 64};
  result.effective.expert_layer.top_k = tokens ? 3 : 0;
  result.backward = backward;
  if (backward) result.effective.products.passes = engine::StepPasses::ForwardBackward;
  result.splits = {64, 32};
  result.expert_layer.emplace().unquantized_snr_db = 52.0;
  for (std::size_t i = 0; i < engine::kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    if (engine::traits_of(tensor).backward && !backward) continue;
    if (!engine::traits_of(tensor).reported) continue;
    if (engine::traits_of(tensor).tokens() && !tokens) continue;
    engine::TensorResult& row = result.tensors.emplace_back();
    row = {.tensor = tensor, .rows = 96, .columns = 64, .bytes = 1024};
    const bool kept = tensor == StepTensor::X || tensor == StepTensor::H;
    row.saved_bytes = backward && kept ? 512 : 0;
    row.error.snr_db = 30.0;
    if (engine::operand_of(result.effective.step, tensor)) {
      row.quantization.emplace().elements = 100 + i;
    }
  }
  set_sources(result, {{StepTensor::X, 30.5},
                       {StepTensor::A, 34.0},
                       {StepTensor::WDown, std::numeric_limits<double>::infinity()}});
  return run;
}

LayerPlace place_of(const LayerModel& model, StepTensor tensor) {
  for (const app::LayerTensorBox& box : model.tensors()) {
    if (box.result->tensor == tensor) return box.place;
  }
  ADD_FAILURE() << engine::name_of(tensor) << " has no box";
  return {};
}

LayerModel model_of(profiling::RecordedRun run) {
  LayerModel model;
  model.set(std::make_shared<const profiling::RecordedRun>(std::move(run)), 7);
  return model;
}

TEST(LayerModel, EveryTensorHasAPlaceOfItsOwn) {
  const LayerModel model = model_of(layer_run(true, true));
  std::set<std::pair<int, int>> places;
  for (const app::LayerTensorBox& box : model.tensors()) {
    EXPECT_TRUE(places.emplace(box.place.column, box.place.row).second);
    EXPECT_LT(box.place.column, app::kLayerColumns);
    EXPECT_LT(box.place.row, app::kLayerRows);
    EXPECT_EQ(box.has_numbers,
              engine::operand_of(engine::StepKind::ExpertLayer, box.result->tensor).has_value());
  }
  for (const app::LayerKernelBox& box : model.kernels()) {
    EXPECT_TRUE(places.emplace(box.place.column, box.place.row).second) << box.id;
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(std::ranges::count(
                               engine::kStepTensors, true, &engine::StepTensorTraits::reported)) +
                               10U);
}

TEST(LayerModel, ATensorThatThePictureDoesNotKnowHasABoxToo) {
  profiling::RecordedRun run = layer_run(true, true);
  for (const StepTensor tensor : {StepTensor::Probabilities, StepTensor::TokenMap}) {
    ASSERT_FALSE(engine::traits_of(tensor).reported);
    engine::tensor_row(run.result, tensor).rows = 96;
  }
  const LayerModel model = model_of(run);
  std::set<std::pair<int, int>> places;
  for (const app::LayerTensorBox& box : model.tensors()) {
    EXPECT_TRUE(places.emplace(box.place.column, box.place.row).second);
    EXPECT_LT(box.place.row, app::kLayerRows);
  }
  for (const app::LayerKernelBox& box : model.kernels()) {
    EXPECT_TRUE(places.emplace(box.place.column, box.place.row).second) << box.id;
  }
}

TEST(LayerModel, ArrowsJoinWhatIsThere) {
  const LayerModel both = model_of(layer_run(true));
  const LayerModel forward = model_of(layer_run(false));
  EXPECT_EQ(forward.kernels().size(), 3U);
  EXPECT_EQ(forward.arrows().size(), 8U);
  // 16 of the two passes, and those of X and H; of A nothing is kept.
  EXPECT_EQ(both.arrows().size(), 18U);
  for (const app::LayerArrow& arrow : both.arrows()) {
    if (!arrow.kept) continue;
    EXPECT_TRUE(arrow.from == place_of(both, StepTensor::X) ||
                arrow.from == place_of(both, StepTensor::H));
    EXPECT_EQ(arrow.to.row, place_of(both, StepTensor::DY).row);
  }
  // Xt to X and Y to Yt, with a kernel on the way; backward dYt to dY and dp, and dX to dXt.
  EXPECT_EQ(model_of(layer_run(false, true)).arrows().size(), 8U + 4U);
  EXPECT_EQ(model_of(layer_run(true, true)).arrows().size(), 18U + 9U);
}

TEST(LayerModel, WhatIsKeptHasAnArrowToItsReaderAlsoPastABox) {
  profiling::RecordedRun run = layer_run(true, true);
  run.result.effective.recipe.scaling = engine::Scaling::Block;
  for (const StepTensor tensor : {StepTensor::WUp, StepTensor::WDown, StepTensor::Y}) {
    engine::tensor_row(run.result, tensor).saved_bytes = 512;
  }
  const LayerModel model = model_of(std::move(run));
  const auto reader_of = [&](StepTensor tensor) -> std::string {
    for (const app::LayerArrow& arrow : model.arrows()) {
      if (!arrow.kept || arrow.from != place_of(model, tensor)) continue;
      const auto box = std::ranges::find(model.kernels(), arrow.to, &app::LayerKernelBox::place);
      return box == model.kernels().end() ? "a tensor" : box->id;
    }
    return "none";
  };
  EXPECT_EQ(reader_of(StepTensor::X), "up_backward");
  EXPECT_EQ(reader_of(StepTensor::WUp), "up_backward");
  EXPECT_EQ(reader_of(StepTensor::WDown), "down_backward");
  EXPECT_EQ(reader_of(StepTensor::Y), "permute_backward");
  EXPECT_EQ(reader_of(StepTensor::A), "none") << "nothing of it is kept";
}

TEST(LayerModel, AnArrowNamesWhatIsWrittenWhereItsBoxShowsCodes) {
  const LayerModel model = model_of(layer_run(true, true));
  const auto label_into = [&](StepTensor tensor) {
    for (const app::LayerArrow& arrow : model.arrows()) {
      if (arrow.to == place_of(model, tensor)) return std::string(model.label_of(arrow));
    }
    return std::string("no arrow");
  };
  EXPECT_EQ(label_into(StepTensor::X), "12.0 KiB, BF16") << "1 KiB of codes in the box";
  EXPECT_EQ(label_into(StepTensor::DY), "12.0 KiB, BF16");
  EXPECT_EQ(label_into(StepTensor::H), "") << "along a row there is no room";
}

TEST(LayerArrows, GoPastTheBoxBetweenThem) {
  const app::LayerBox from{.x = 10, .y = 0, .width = 80, .height = 40};
  const app::LayerBox to{.x = 0, .y = 120, .width = 100, .height = 60};
  EXPECT_EQ(app::arrow_path(from, to, /*kept=*/false, 1.0).size(), 2U);
  const std::vector<app::LayerPoint> path = app::arrow_path(from, to, /*kept=*/true, 1.0);
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(path.front().x, 90);
  EXPECT_GT(path[1].x, 100);
  EXPECT_LT(path[1].x, 100 + app::kBesideColumn);
  EXPECT_EQ(path.back().x, 100);
  EXPECT_GT(path.back().y, to.y);
  EXPECT_LT(path.back().y, to.y + 0.5 * to.height);
}

TEST(KeptRoom, IsWhatWasAllocatedWhereThatIsMore) {
  profiling::RecordedRun run = layer_run(true);
  const auto allocate = [&](const char* owner, std::uint64_t bytes) {
    run.snapshot.ledger.push_back(
        {.bytes = bytes, .role = engine::AllocationRole::Quantized, .owner = owner});
  };
  EXPECT_EQ(app::kept_room_text(run), "") << "no ledger";
  allocate("X: rowwise codes", 4096);
  allocate("X: columnwise codes", 512);
  allocate("H, layer 0: columnwise codes", 512);
  EXPECT_EQ(app::kept_room_text(run), "") << "as much as is kept";
  allocate("X: columnwise scales", 256);
  allocate("X, layer 1: columnwise codes", 512);
  allocate("micro-batch 2: X: columnwise codes", 512);
  const engine::TensorResult& x = run.result.tensors.front();
  ASSERT_EQ(x.tensor, StepTensor::X);
  EXPECT_EQ(app::kept_room(run, x), 768);
  EXPECT_EQ(app::kept_room_text(run), "allocated for it, with room for any splits: X 768 B");
  EXPECT_EQ(model_of(run).tensors().front().room, 768);
}

TEST(LedgerOwner, IsTakenApart) {
  const auto parts = [](std::string_view owner) {
    const auto taken = app::ledger_owner(owner).value_or(app::LedgerOwner());
    return std::vector<std::string_view>{taken.micro_batch, taken.operand, taken.layer, taken.part};
  };
  EXPECT_THAT(parts("X: columnwise codes"), ElementsAre("", "X", "", "columnwise codes"));
  EXPECT_THAT(parts("A, layer 0: tickets"), ElementsAre("", "A", "layer 0", "tickets"));
  EXPECT_THAT(parts("micro-batch 2: A, layer 1: rowwise scales"),
              ElementsAre("micro-batch 2", "A", "layer 1", "rowwise scales"));
  EXPECT_EQ(app::ledger_owner("workspace of fprop, layer 0"), std::nullopt);
  EXPECT_EQ(app::ledger_owner("micro-batch 1: offsets"), std::nullopt);
}

TEST(LayerModel, ThePictureFollowsTheProgram) {
  // Backward alone: what it prepares of forward is drawn, and no product that no operation makes.
  profiling::RecordedRun run = layer_run(true);
  run.result.effective.products.passes = engine::StepPasses::Backward;
  const LayerModel backward = model_of(run);
  const auto has = [](const LayerModel& model, std::string_view id) {
    return std::ranges::find(model.kernels(), id, &app::LayerKernelBox::id) !=
           model.kernels().end();
  };
  EXPECT_TRUE(has(backward, "up")) << "H is needed for the activation's gradient";
  EXPECT_TRUE(has(backward, "up_backward"));
  run.result.effective.products.passes = engine::StepPasses::Forward;
  EXPECT_FALSE(has(model_of(run), "up_backward"));
  // Without codes, products read the tensors themselves.
  run = layer_run(true);
  run.result.effective.recipe.scaling = engine::Scaling::None;
  const LayerModel plain = model_of(run);
  EXPECT_EQ(plain.kernels().front().reads, "");
  EXPECT_EQ(plain.arrows().size(), model_of(layer_run(true)).arrows().size());
}

TEST(LayerModel, PermutationsHaveTheirOwnKernelsWithBytes) {
  profiling::RecordedRun run = layer_run(true, true);
  run.result.effective.products.passes = engine::StepPasses::ForwardBackward;
  run.activity.names = {"work"};
  std::int64_t at = 0;
  const auto add = [&](int layer, Stage stage, std::int64_t duration) {
    profiling::ActivityRecord record{.start_ns = at, .end_ns = at += duration, .iteration = 0};
    record.layer = static_cast<std::uint8_t>(layer);
    record.stage = stage;
    run.activity.records.push_back(record);
  };
  add(0, Stage::Permute, 3);
  add(0, Stage::Fprop, 10);
  add(1, Stage::Fprop, 10);
  add(1, Stage::Unpermute, 5);
  add(1, Stage::Permute, 7);
  add(1, Stage::Dgrad, 10);
  add(0, Stage::Dgrad, 10);
  add(0, Stage::Unpermute, 9);
  const LayerModel model = model_of(std::move(run));
  const double row = 64 * 2;
  const double number = 4 * 96;  // of every copy; 32 tokens
  struct Expected {
    const char* id;
    double time, bytes;
  };
  for (const Expected& one : {Expected{"permute", 3, (32 + 96) * row + 2 * number},
                              Expected{"unpermute", 5, (32 + 96) * row + 2 * number},
                              Expected{"permute_backward", 7, (32 + 2 * 96) * row + 3 * number},
                              Expected{"unpermute_backward", 9, (32 + 96) * row + number}}) {
    const auto box =
        std::ranges::find(model.kernels(), std::string_view(one.id), &app::LayerKernelBox::id);
    ASSERT_NE(box, model.kernels().end()) << one.id;
    ASSERT_EQ(box->times.size(), 1U) << one.id;
    EXPECT_DOUBLE_EQ(box->times[0].of.time.median, one.time) << one.id;
    EXPECT_DOUBLE_EQ(box->bytes, one.bytes) << one.id;
  }
  for (const app::LayerKernelBox& box : model.kernels()) {
    if (std::string_view(box.id).find("permute") == std::string_view::npos) {
      EXPECT_EQ(box.bytes, 0) << box.id;
    }
  }
  EXPECT_EQ(model_of(layer_run(true)).kernels().size(), 6U) << "only with tokens";
}

TEST(LayerModel, KernelsHaveTheTimesOfTheirProjection) {
  profiling::RecordedRun run = layer_run(true);
  run.activity.names = {"work"};
  const auto add = [&](int layer, Stage stage, std::int64_t start, std::int64_t end) {
    profiling::ActivityRecord record{.start_ns = start, .end_ns = end, .iteration = 0};
    record.layer = static_cast<std::uint8_t>(layer);
    record.stage = stage;
    run.activity.records.push_back(record);
  };
  add(0, Stage::Quantize, 0, 5);
  add(0, Stage::Fprop, 5, 25);
  add(1, Stage::Activation, 25, 28);
  add(1, Stage::Fprop, 30, 70);
  add(1, Stage::Quantize, 70, 71);    // dY
  add(1, Stage::Activation, 71, 73);  // again, for dWdown
  add(1, Stage::Dgrad, 73, 82);
  add(0, Stage::Activation, 82, 86);
  add(0, Stage::Quantize, 86, 92);  // dH
  add(0, Stage::Dgrad, 92, 99);
  run.result.effective.expert_layer.fused_activation = false;
  run.result.effective.expert_layer.recompute_activation = true;
  const LayerModel model = model_of(std::move(run));
  const auto of = [&](std::string_view id) {
    return *std::ranges::find(model.kernels(), id, &app::LayerKernelBox::id);
  };
  ASSERT_EQ(of("up").times.size(), 2U);
  EXPECT_EQ(of("up").times[0].of.stage, Stage::Quantize);
  EXPECT_THAT(of("up").times[0].of.time.median, DoubleEq(5.0)) << "dH is quantized backward";
  EXPECT_THAT(of("up").times[1].of.time.median, DoubleEq(20.0));
  ASSERT_EQ(of("activation").times.size(), 1U);
  EXPECT_THAT(of("activation").times[0].of.time.median, DoubleEq(3.0)) << "once, forward";
  ASSERT_EQ(of("down").times.size(), 1U);
  EXPECT_THAT(of("down").times[0].of.time.median, DoubleEq(40.0));
  ASSERT_EQ(of("down_backward").times.size(), 2U);
  EXPECT_THAT(of("down_backward").times[0].of.time.median, DoubleEq(1.0));
  EXPECT_THAT(of("down_backward").times[1].of.time.median, DoubleEq(9.0));
  EXPECT_EQ(of("down_backward").reads, "dY and A again");
  ASSERT_EQ(of("activation_backward").times.size(), 2U);
  const auto backward_time = [&](std::string_view label) {
    const app::LayerKernelBox box = of("activation_backward");
    return std::ranges::find(box.times, label, &app::LayerKernelTime::label)->of.time.median;
  };
  EXPECT_THAT(backward_time("A again"), DoubleEq(2.0));
  EXPECT_THAT(backward_time("activation"), DoubleEq(4.0));
  EXPECT_EQ(of("up_backward").reads, "dH");
  EXPECT_THAT(of("up_backward").times[0].of.time.median, DoubleEq(6.0));
  const LayerModel untraced = model_of(layer_run(true));
  EXPECT_EQ(untraced.kernels().front().note, "not traced");
  run = layer_run(true);
  run.activity.names = {"work"};
  add(0, Stage::Fprop, 5, 25);
  const LayerModel fused = model_of(std::move(run));
  EXPECT_EQ(fused.kernels()[3].note, "no records");
  EXPECT_THAT(fused.kernels()[4].note, HasSubstr("fused"));
}

TEST(LayerModel, ErrorsAreSortedByWhatTheyCost) {
  const LayerModel model = model_of(layer_run(false));
  ASSERT_EQ(model.errors().size(), 3U);
  EXPECT_EQ(model.errors()[0].tensor, StepTensor::WDown);
  EXPECT_TRUE(std::isinf(model.errors()[0].gain_db));
  EXPECT_EQ(model.errors()[1].tensor, StepTensor::A);
  EXPECT_DOUBLE_EQ(model.errors()[1].gain_db, 4.0);
  EXPECT_DOUBLE_EQ(model.errors()[2].gain_db, 0.5);
}

TEST(LayerModel, TheSentenceNamesTheLargest) {
  profiling::RecordedRun run = layer_run(false);
  set_sources(run.result, {{StepTensor::X, 30.5}, {StepTensor::A, 34.0}});
  EXPECT_EQ(model_of(run).sentence(), "A costs most: left unquantized, Y gains 4.0 dB.");
  set_sources(run.result, {{StepTensor::X, 30.01}, {StepTensor::A, 29.9}});
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("No single tensor costs Y anything"));
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("A unquantized loses 0.1 dB"));
  set_sources(run.result, {{StepTensor::X, 30.01}, {StepTensor::A, 29.99}});
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("No single tensor decides"));
  set_sources(run.result, {});
  // A step that has a forward pass is not told to choose one.
  run.result.effective.products.passes = engine::StepPasses::ForwardBackward;
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("run its request again"));
  run.result.effective.products.passes = engine::StepPasses::Backward;
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("choose a step that has one"));
  run.result.effective.recipe.scaling = engine::Scaling::None;
  EXPECT_THAT(model_of(run).sentence(), HasSubstr("quantizes nothing"));
}

TEST(NumericsModel, ShowsEveryOperandOfALayer) {
  using enum StepTensor;
  profiling::RecordedRun run = layer_run(true);
  EXPECT_THAT(engine::operands_of(run.result), ElementsAre(X, WUp, A, WDown, DY, DH));
  EXPECT_THAT(engine::operands_of(layer_run(false).result), ElementsAre(X, WUp, A, WDown));
  EXPECT_THAT(engine::operands_of(engine::StepKind::Linear), ElementsAre(X, WUp, DY));
  EXPECT_EQ(engine::tensor_symbol(engine::StepKind::Linear, WUp), "W");
  EXPECT_EQ(engine::tensor_symbol(engine::StepKind::ExpertLayer, WUp), "Wup");

  run.result.effective.recipe.scaling = engine::Scaling::Block;
  run.result.effective.expert_layer.mixed_recipes = true;
  app::NumericsModel model;
  const app::Theme theme;
  const auto shared = std::make_shared<const profiling::RecordedRun>(std::move(run));
  model.set(shared, 1, A, engine::Product::Fprop, theme);
  EXPECT_EQ(model.statistics().elements, 103U);
  EXPECT_EQ(model.recipe().scaling, engine::Scaling::None) << "of the down projection";
  EXPECT_FALSE(model.quantized());
  model.set(shared, 1, DH, engine::Product::Fprop, theme);
  EXPECT_EQ(model.statistics().elements, 108U);
  EXPECT_TRUE(model.quantized());
}

TEST(RecipeMemories, EveryRecipeOnceAndTheOwnOneMarked) {
  engine::RunRequest request = layer_run(true).result.effective;
  request.recipe.scaling = engine::Scaling::Block;
  const std::vector<std::int64_t> splits = {64, 32};
  std::vector<app::RecipeMemory> memories = app::recipe_memories(request, splits);
  ASSERT_EQ(memories.size(), engine::kRecipeTraits.size());
  EXPECT_EQ(memories[0].name, "BF16");
  EXPECT_EQ(memories[0].x, 96 * 64 * 2);
  EXPECT_EQ(memories[0].h, 96 * 128 * 2);
  EXPECT_EQ(memories[0].weights, 0);
  EXPECT_EQ(std::ranges::count(memories, true, &app::RecipeMemory::chosen), 1);
  EXPECT_TRUE(memories[2].chosen);
  EXPECT_THAT(app::memory_sentence(memories, true), HasSubstr("FP8 block keeps"));
  EXPECT_THAT(app::memory_sentence(memories, true), HasSubstr("less than BF16"));
  // Activations alone are less; with the second copies of weights it may be more, which is said.
  memories[0].x = 1000;
  memories[0].h = memories[0].a = memories[0].y = 0;
  memories[2].x = 800;
  memories[2].h = memories[2].a = memories[2].y = 0;
  memories[2].weights = 1200;
  EXPECT_THAT(
      app::memory_sentence(memories, true),
      testing::AllOf(HasSubstr("800 B of activations, 1.25x less than BF16; with the second copies "
                               "of weights (1.2 KiB) it keeps "),
                     testing::EndsWith("2.00x more than BF16.")));
  memories[2].weights = 0;
  EXPECT_THAT(app::memory_sentence(memories, true), testing::EndsWith(", 1.25x less than BF16."));
  memories = app::recipe_memories(request, splits);
  const std::string forward = app::memory_sentence(memories, false);
  EXPECT_THAT(forward, HasSubstr("This step keeps nothing; with a backward pass"));
  EXPECT_THAT(forward, HasSubstr("FP8 block would keep"));

  EXPECT_EQ(memories[0].y, 0);
  request.expert_layer.top_k = 3;
  for (const app::RecipeMemory& one : app::recipe_memories(request, splits)) {
    EXPECT_EQ(one.y, 96 * 64 * 2) << one.name;
    EXPECT_EQ(one.activations(), one.x + one.h + one.a + one.y);
  }
  request.expert_layer.mixed_recipes = true;
  memories = app::recipe_memories(request, splits);
  ASSERT_EQ(memories.size(), engine::kRecipeTraits.size() + 1);
  EXPECT_EQ(memories[0].name, "FP8 block, down BF16");
  EXPECT_TRUE(memories[0].chosen);
  EXPECT_EQ(memories[0].x, memories[3].x);
  EXPECT_EQ(memories[0].a, memories[1].a);
}

}  // namespace
