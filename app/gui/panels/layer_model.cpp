#include "app/gui/panels/layer_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "engine/program/saved_memory.h"
#include "profiling/trace/roofline.h"

namespace app {
namespace {

using engine::Stage;
using engine::StepTensor;

struct TensorPlace {
  StepTensor tensor;
  LayerPlace place;
};
constexpr TensorPlace kPlaces[] = {
    {StepTensor::X, {0, 2}},
    {StepTensor::WUp, {1, 1}},
    {StepTensor::H, {2, 2}},
    {StepTensor::A, {4, 2}},
    {StepTensor::WDown, {5, 1}},
    {StepTensor::Y, {6, 2}},
    {StepTensor::DY, {6, 3}},
    {StepTensor::DA, {4, 3}},
    {StepTensor::DH, {2, 3}},
    {StepTensor::DX, {0, 3}},
    {StepTensor::DWDown, {5, 4}},
    {StepTensor::DWUp, {1, 4}},
    {StepTensor::XTokens, {0, 0}},
    {StepTensor::YTokens, {6, 0}},
    {StepTensor::DYTokens, {6, 5}},
    {StepTensor::DXTokens, {0, 5}},
    {StepTensor::DProbabilities, {5, 5}},
};

/// A stage of a projection: 0 = up, 1 = down. The activation is counted with the projection that
/// reads what it makes: down forward, up backward.
struct KernelPart {
  int layer;
  Stage stage;
  const char* label = nullptr;  // null = the stage's name
};
constexpr int kUp = 0;
constexpr int kDown = 1;

constexpr KernelPart kUpForward[] = {{kUp, Stage::Amax},
                                     {kUp, Stage::Quantize},
                                     {kUp, Stage::Dequantize},
                                     {kUp, Stage::Fprop},
                                     {kUp, Stage::Bias}};
constexpr KernelPart kActivation[] = {{kDown, Stage::Activation}};
constexpr KernelPart kDownForward[] = {{kDown, Stage::Amax},
                                       {kDown, Stage::Quantize},
                                       {kDown, Stage::Dequantize},
                                       {kDown, Stage::Fprop},
                                       {kDown, Stage::Bias}};
constexpr KernelPart kDownBackward[] = {{kDown, Stage::Amax},       {kDown, Stage::Quantize},
                                        {kDown, Stage::Dequantize}, {kDown, Stage::Bias},
                                        {kDown, Stage::Dgrad},      {kDown, Stage::Wgrad}};
constexpr KernelPart kActivationBackward[] = {{kDown, Stage::Activation, "A again"},
                                              {kUp, Stage::Activation}};
constexpr KernelPart kUpBackward[] = {{kUp, Stage::Amax},       {kUp, Stage::Quantize},
                                      {kUp, Stage::Dequantize}, {kUp, Stage::Bias},
                                      {kUp, Stage::Dgrad},      {kUp, Stage::Wgrad}};
constexpr KernelPart kPermute[] = {{kUp, Stage::Permute, "Xt"}};
constexpr KernelPart kUnpermute[] = {{kDown, Stage::Unpermute, "Y"}};
constexpr KernelPart kPermuteBackward[] = {{kDown, Stage::Permute, "dYt"}};
constexpr KernelPart kUnpermuteBackward[] = {{kUp, Stage::Unpermute, "dX"}};

struct KernelPlan {
  const char* id;
  const char* title;
  const char* reads;
  LayerPlace place;
  std::span<const KernelPart> parts;
  bool permutes = false;  // only there with tokens

  bool backward() const { return place.row > 2; }
};

constexpr KernelPlan kKernels[] = {
    {"up", "up projection", "X and Wup", {1, 2}, kUpForward},
    {"activation", "activation", "", {3, 2}, kActivation},
    {"down", "down projection", "A and Wdown", {5, 2}, kDownForward},
    {"down_backward", "dA and dWdown", "dY", {5, 3}, kDownBackward},
    {"activation_backward", "activation, backward", "", {3, 3}, kActivationBackward},
    {"up_backward", "dX and dWup", "dH", {1, 3}, kUpBackward},
    {"permute", "permute", "", {0, 1}, kPermute, true},
    {"unpermute", "un-permute", "", {6, 1}, kUnpermute, true},
    {"permute_backward", "permute", "", {6, 4}, kPermuteBackward, true},
    {"unpermute_backward", "un-permute", "", {0, 4}, kUnpermuteBackward, true},
};

/// An arrow is drawn where both of its ends are.
constexpr LayerArrow kArrows[] = {
    {{0, 2}, {1, 2}},
    {{1, 1}, {1, 2}},
    {{1, 2}, {2, 2}},
    {{2, 2}, {3, 2}},
    {{3, 2}, {4, 2}},
    {{4, 2}, {5, 2}},
    {{5, 1}, {5, 2}},
    {{5, 2}, {6, 2}},
    {{6, 3}, {5, 3}},
    {{5, 3}, {4, 3}},
    {{5, 3}, {5, 4}},
    {{4, 3}, {3, 3}},
    {{3, 3}, {2, 3}},
    {{2, 3}, {1, 3}},
    {{1, 3}, {0, 3}},
    {{1, 3}, {1, 4}},
    // Permutation.
    {{0, 0}, {0, 1}},
    {{0, 1}, {0, 2}},
    {{6, 2}, {6, 1}},
    {{6, 1}, {6, 0}},
    {{6, 5}, {6, 4}},
    {{6, 4}, {6, 3}},
    {{6, 4}, {5, 5}},
    {{0, 3}, {0, 4}},
    {{0, 4}, {0, 5}},
    // What forward has kept.
    {{0, 2}, {1, 3}, true},
    {{2, 2}, {3, 3}, true},
    {{4, 2}, {5, 3}, true},
};

std::string no_times(const KernelPlan& plan, const profiling::RecordedRun& run) {
  if (run.activity.records.empty()) return "not traced";
  const bool activation = plan.parts.front().stage == Stage::Activation;
  if (activation && run.result.effective.expert_layer.fused_activation) return "fused: in quantize";
  return "no records";
}

}  // namespace

std::string bytes_of(std::int64_t bytes) {
  return plot::bytes_text(static_cast<std::uint64_t>(bytes));
}

void LayerModel::set(Run run, std::uint64_t generation) {
  run_ = std::move(run);
  generation_ = generation;
  kernels_.clear();
  arrows_.clear();
  place_tensors();
  const std::vector<profiling::LayerTime> times = profiling::layer_times(run_->activity, 2);
  const bool backward = run_->result.backward;
  const engine::RunRequest& effective = run_->result.effective;
  for (const KernelPlan& plan : kKernels) {
    if (plan.backward() && !backward) continue;
    if (plan.permutes && effective.expert_layer.top_k == 0) continue;
    LayerKernelBox box{
        .id = plan.id, .title = plan.title, .reads = plan.reads, .place = plan.place, .times = {}};
    if (plan.parts.data() == kDownBackward && effective.expert_layer.recompute_activation) {
      box.reads += " and A again";
    }
    for (const KernelPart& part : plan.parts) {
      for (const profiling::LayerTime& time : times) {
        if (time.layer != part.layer || time.stage != part.stage) continue;
        if (time.backward != plan.backward()) continue;
        box.times.push_back(
            {part.label == nullptr ? engine::stage_name(part.stage) : part.label, time});
      }
    }
    if (box.times.empty()) box.note = no_times(plan, *run_);
    if (plan.permutes) {
      const KernelPart& part = plan.parts.front();
      box.bytes =
          profiling::permutation_bytes(run_->result, part.stage, engine::projection_at(part.layer));
    }
    kernels_.push_back(std::move(box));
  }
  const auto tensor_at = [&](LayerPlace place) {
    return std::ranges::find(tensors_, place, &LayerTensorBox::place);
  };
  const auto present = [&](LayerPlace place) {
    return tensor_at(place) != tensors_.end() ||
           std::ranges::find(kernels_, place, &LayerKernelBox::place) != kernels_.end();
  };
  for (const LayerArrow& arrow : kArrows) {
    if (!present(arrow.from) || !present(arrow.to)) continue;
    if (arrow.kept && tensor_at(arrow.from)->result->saved_bytes == 0) continue;
    arrows_.push_back(arrow);
  }
  derive_errors();
}

void LayerModel::place_tensors() {
  tensors_.clear();
  int free = 0;  // cells of the grid, row by row
  const auto is_taken = [](LayerPlace place) {
    return std::ranges::find(kPlaces, place, &TensorPlace::place) != std::end(kPlaces) ||
           std::ranges::find(kKernels, place, &KernelPlan::place) != std::end(kKernels);
  };
  const auto next_free = [&] {
    LayerPlace place;
    do {
      place = {.column = free % kLayerColumns, .row = free / kLayerColumns % kLayerRows};
      ++free;
    } while (is_taken(place));
    return place;
  };
  for (const engine::TensorResult& one : run_->result.tensors) {
    // A tensor that the picture does not know is in the first cells that it leaves free.
    const auto* const known = std::ranges::find(kPlaces, one.tensor, &TensorPlace::tensor);
    tensors_.push_back({.result = &one,
                        .place = known != std::end(kPlaces) ? known->place : next_free(),
                        .has_numbers = one.quantization.has_value()});
  }
}

void LayerModel::derive_errors() {
  const engine::TensorResult* const y = engine::find_tensor(run_->result, StepTensor::Y);
  own_snr_db_ = y == nullptr ? std::numeric_limits<double>::quiet_NaN() : y->error.snr_db;
  errors_.clear();
  for (const engine::TensorResult& one : run_->result.tensors) {
    if (!one.unquantized_y) continue;
    const auto [snr_db, left_out] = *one.unquantized_y;
    // Two exact results differ by nothing.
    const double gain = snr_db == own_snr_db_ ? 0.0 : snr_db - own_snr_db_;
    errors_.push_back(
        {.tensor = one.tensor, .snr_db = snr_db, .left_out = left_out, .gain_db = gain});
  }
  std::ranges::stable_sort(errors_, [](const ErrorBar& a, const ErrorBar& b) {
    return std::isnan(b.gain_db) ? !std::isnan(a.gain_db) : a.gain_db > b.gain_db;
  });
  if (errors_.empty()) {
    const bool quantizes = std::ranges::any_of(
        engine::step_parts(run_->result.effective), [](const engine::StepPart& part) {
          return engine::traits_of(part.request.recipe).quantizes();
        });
    const bool forward = run_->result.effective.linear.passes != engine::StepPasses::Backward;
    sentence_ = !quantizes
                    ? "Forward quantizes nothing: what is left is rounding to high precision."
                : forward ? "This run holds no such measurement: run its request again to make it."
                          : "Without a forward pass there is no Y: choose a step that has one.";
    return;
  }
  const ErrorBar& first = errors_.front();
  const std::string_view symbol = engine::traits_of(first.tensor).symbol;
  if (std::isnan(first.gain_db)) {
    sentence_ = "Y was not compared: the step has no forward pass of its own.";
  } else if (first.gain_db < 0.05) {
    // Errors of several tensors can cancel in part.
    const double worst = errors_.back().gain_db;
    sentence_ = worst > -0.05 ? "No single tensor decides: leaving one of them unquantized changes "
                                "Y by less than 0.1 dB."
                              : fmt::format(
                                    "No single tensor costs Y anything: leaving one of "
                                    "them unquantized gains less than 0.1 dB, and {} "
                                    "unquantized loses {} dB.",
                                    engine::traits_of(errors_.back().tensor).symbol,
                                    plot::decibel_text(-worst));
  } else {
    sentence_ = fmt::format("{} costs most: left unquantized, Y gains {} dB.", symbol,
                            plot::decibel_text(first.gain_db));
  }
}

std::vector<RecipeMemory> recipe_memories(const engine::RunRequest& request,
                                          const std::vector<std::int64_t>& splits) {
  const auto of = [&](const engine::RunRequest& asked) {
    engine::RunRequest both = asked;
    both.linear.passes = engine::StepPasses::ForwardBackward;
    RecipeMemory memory;
    for (const engine::SavedTensor& saved : engine::saved_for_backward(both, splits)) {
      std::int64_t& sum = saved.tensor == StepTensor::X   ? memory.x
                          : saved.tensor == StepTensor::H ? memory.h
                          : saved.tensor == StepTensor::A ? memory.a
                          : saved.tensor == StepTensor::Y ? memory.y
                                                          : memory.weights;
      sum += saved.bytes;
    }
    return memory;
  };
  const engine::ExpertLayerOptions& layer = request.expert_layer;
  const bool mixed = engine::is_expert_layer(request) && layer.mixed_recipes &&
                     layer.down_scaling != request.recipe.scaling;
  std::vector<RecipeMemory> memories;
  if (mixed) {
    memories.push_back(of(request));
    memories.back().name = fmt::format("{}, down {}", engine::traits_of(request.recipe).label,
                                       engine::traits_of(layer.down_scaling).label);
    memories.back().chosen = true;
  }
  for (std::size_t i = 0; i < engine::kRecipeTraits.size(); ++i) {
    engine::RunRequest one = request;
    one.recipe.scaling = static_cast<engine::Scaling>(i);
    one.expert_layer.mixed_recipes = false;
    memories.push_back(of(one));
    memories.back().name = engine::kRecipeTraits[i].label;
    memories.back().chosen = !mixed && one.recipe.scaling == request.recipe.scaling;
  }
  return memories;
}

std::string memory_sentence(const std::vector<RecipeMemory>& memories) {
  const auto own = std::ranges::find(memories, true, &RecipeMemory::chosen);
  const std::string_view high = engine::traits_of(engine::Scaling::None).label;
  const auto plain = std::ranges::find(memories, high, &RecipeMemory::name);
  if (own == memories.end() || plain == memories.end() || own->activations() == 0) return {};
  const std::string kept =
      fmt::format("{} keeps {} of activations", own->name, bytes_of(own->activations()));
  if (own == plain) return kept + ".";
  return fmt::format(
      "{}, {:.2f}x less than {}; second copies of weights: {}.", kept,
      static_cast<double>(plain->activations()) / static_cast<double>(own->activations()), high,
      bytes_of(own->weights));
}

}  // namespace app
