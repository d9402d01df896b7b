#include "app/plot/layer_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "app/plot/kept_room.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_words.h"
#include "engine/program/error_sources.h"
#include "engine/program/saved_memory.h"
#include "engine/program/step_program.h"
#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"
#include "profiling/trace/roofline.h"

namespace app {
namespace {

using engine::Stage;
using engine::StepTensor;

struct TensorPlace {
  StepTensor tensor;
  LayerPlace place;
};
/// Backward is below forward.
constexpr bool is_backward(LayerPlace place) { return place.row > 2; }

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

/// The boxes of kernels, in the order in which they are listed.
enum class Box : std::uint8_t {
  Up,
  Activation,
  Down,
  DownBackward,
  ActivationBackward,
  UpBackward,
  Permute,
  Unpermute,
  PermuteBackward,
  UnpermuteBackward,
};

struct BoxPlan {
  const char* id;
  const char* title;
  LayerPlace place;
  Stage stage = Stage::Other;  // of the work that it is for; Other: a projection's
};

constexpr BoxPlan kBoxes[] = {
    {"up", "up projection", {1, 2}},
    {"activation", "activation", {3, 2}, Stage::Activation},
    {"down", "down projection", {5, 2}},
    {"down_backward", "dA and dWdown", {5, 3}},
    {"activation_backward", "activation backward", {3, 3}, Stage::Activation},
    {"up_backward", "dX and dWup", {1, 3}},
    {"permute", "permute", {0, 1}, Stage::Permute},
    {"unpermute", "unpermute", {6, 1}, Stage::Unpermute},
    {"permute_backward", "permute", {6, 4}, Stage::Permute},
    {"unpermute_backward", "unpermute", {0, 4}, Stage::Unpermute},
};

constexpr const BoxPlan& plan_of(Box box) { return kBoxes[static_cast<std::size_t>(box)]; }

/// Of the projection that the operation belongs to.
Box box_of_projection(const engine::Operation& operation, bool backward) {
  const bool up = operation.projection == engine::Projection::Up;
  if (backward) return up ? Box::UpBackward : Box::DownBackward;
  return up ? Box::Up : Box::Down;
}

/// Where an operation is drawn: in the box of its stage, or else of its projection. Quantize
/// kernels that also compute the activation are drawn there, and their time is their projection's.
std::optional<Box> box_of(const engine::Operation& operation, bool backward) {
  const Stage stage = operation.activates ? Stage::Activation : operation.traits().stage;
  if (stage == Stage::Offsets) return {};
  for (std::size_t i = 0; i < std::size(kBoxes); ++i) {
    const BoxPlan& plan = kBoxes[i];
    if (plan.stage != Stage::Other && plan.stage == stage && is_backward(plan.place) == backward) {
      return static_cast<Box>(i);
    }
  }
  return box_of_projection(operation, backward);
}

/// A stage of a projection, as records are counted.
struct KernelPart {
  engine::Projection projection;
  Stage stage;
  std::string label;
  bool operator==(const KernelPart&) const = default;
};

std::string symbol_of(const engine::Value& value) {
  return std::string(engine::traits_of(value.tensor).symbol);
}

/// Tells work of one stage apart: a permutation is called by what it reads, and what backward
/// computes again by what it makes.
std::string label_of(const engine::Operation& operation) {
  const Stage stage = operation.traits().stage;
  if (stage == Stage::Permute || stage == Stage::Unpermute) {
    return symbol_of(operation.reads.front());
  }
  if (operation.again && stage == Stage::Activation) {
    return symbol_of(operation.writes.front()) + " again";
  }
  return std::string(engine::stage_name(stage));
}

/// What one box stands for: found in the program of the run.
struct BoxContents {
  std::vector<KernelPart> parts;
  std::string quantizes;  // "X and Wup"
  bool drawn = false;     // an operation of the step is in it
};

void add_part(KernelPart part, std::vector<KernelPart>& parts) {
  if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
}

void add_stages(const engine::Operation& operation, BoxContents& contents) {
  const auto add = [&](Stage stage) {
    add_part({operation.projection, stage, std::string(engine::stage_name(stage))}, contents.parts);
  };
  // Stages of their own for what belongs to quantizing.
  const bool quantizes = operation.traits().copies;
  if (quantizes) add(Stage::Amax);
  add_part({operation.projection, operation.traits().stage, label_of(operation)}, contents.parts);
  if (!quantizes) return;
  add(Stage::Dequantize);
  if (!contents.quantizes.empty()) contents.quantizes += " and ";
  contents.quantizes += symbol_of(operation.writes.front()) + (operation.again ? " again" : "");
}

/// A line down or up a column would cross what lies between; what is kept goes past it.
bool is_clear(const LayerArrow& arrow) {
  return arrow.kept || arrow.from.column != arrow.to.column ||
         std::abs(arrow.from.row - arrow.to.row) == 1;
}

/// Boxes and arrows of layer 0 of the first micro-batch.
struct Drawing {
  std::array<BoxContents, std::size(kBoxes)> boxes;
  std::vector<LayerArrow> arrows;

  BoxContents& of(Box box) { return boxes[static_cast<std::size_t>(box)]; }
};

void add_arrow(LayerArrow arrow, std::vector<LayerArrow>& arrows) {
  if (is_clear(arrow) && std::ranges::find(arrows, arrow) == arrows.end()) arrows.push_back(arrow);
}

std::optional<LayerPlace> place_of(StepTensor tensor) {
  const auto* const found = std::ranges::find(kPlaces, tensor, &TensorPlace::tensor);
  if (found == std::end(kPlaces)) return {};
  return found->place;
}

void draw_operation(const engine::Operation& operation, bool backward, Drawing& drawing) {
  const std::optional<Box> box = box_of(operation, backward);
  if (!box || operation.layer > 0) return;
  drawing.of(*box).drawn = true;
  const bool quantizes = operation.traits().copies;
  add_stages(operation, drawing.of(quantizes ? box_of_projection(operation, backward) : *box));
  const LayerPlace here = plan_of(*box).place;
  for (const engine::Value& value : operation.reads) {
    const std::optional<LayerPlace> from = place_of(value.tensor);
    const bool kept = backward && !engine::traits_of(value.tensor).backward;
    if (from) add_arrow({.from = *from, .to = here, .kept = kept}, drawing.arrows);
  }
  for (const engine::Value& value : operation.writes) {
    const std::optional<LayerPlace> to = place_of(value.tensor);
    // What backward computes again is drawn once, where forward computes it.
    const bool again = backward && !engine::traits_of(value.tensor).backward;
    // The codes of an operand are of the operand itself, unless its elements are never written.
    const bool elements = value.form == engine::ValueForm::Elements;
    if (to && !again && (elements || operation.activates)) {
      add_arrow({.from = here, .to = *to, .has_elements = elements}, drawing.arrows);
    }
  }
}

Drawing drawing_of(const engine::StepProgram& program) {
  Drawing drawing;
  for (const engine::Operation& operation : program.prepare) {
    draw_operation(operation, /*backward=*/false, drawing);
  }
  for (const engine::ProgramPart& part : program.parts) {
    if (part.micro_batch > 0) continue;
    for (const engine::Operation& operation : part.operations) {
      draw_operation(operation, part.pass == engine::ProgramPass::Backward, drawing);
    }
  }
  return drawing;
}

std::string no_times(Box box, const BoxContents& contents, const profiling::RecordedRun& run) {
  if (run.activity.records.empty()) return "not traced";
  const bool activation = box == Box::Activation || box == Box::ActivationBackward;
  return activation && contents.parts.empty() ? "fused: in quantize" : "no records";
}

}  // namespace

std::string bytes_of(std::int64_t bytes) {
  return profiling::bytes_text(static_cast<std::uint64_t>(bytes));
}

void LayerModel::set(Run run, std::uint64_t generation) {
  run_ = std::move(run);
  generation_ = generation;
  kernels_.clear();
  arrows_.clear();
  place_tensors();
  const std::vector<profiling::LayerTime> times = profiling::layer_times(run_->activity, 2);
  const Drawing drawing = drawing_of(engine::program_of(run_->result.effective));
  for (std::size_t i = 0; i < std::size(kBoxes); ++i) {
    const BoxContents& contents = drawing.boxes[i];
    if (!contents.drawn) continue;
    const auto which = static_cast<Box>(i);
    const BoxPlan& plan = plan_of(which);
    LayerKernelBox box{.id = plan.id,
                       .title = plan.title,
                       .reads = contents.quantizes,
                       .place = plan.place,
                       .times = {}};
    for (const KernelPart& part : contents.parts) {
      for (const profiling::LayerTime& time : times) {
        if (time.layer != static_cast<int>(part.projection) || time.stage != part.stage) continue;
        if (time.backward != is_backward(plan.place)) continue;
        box.times.push_back({part.label, time});
      }
      if (part.stage == Stage::Permute || part.stage == Stage::Unpermute) {
        box.bytes = profiling::permutation_bytes(run_->result, part.stage, part.projection);
      }
    }
    if (box.times.empty()) box.note = no_times(which, contents, *run_);
    kernels_.push_back(std::move(box));
  }
  place_arrows(drawing.arrows);
  derive_errors();
}

void LayerModel::place_arrows(const std::vector<LayerArrow>& arrows) {
  for (const LayerArrow& arrow : arrows) {
    const auto tensor_at = [&](LayerPlace place) {
      return std::ranges::find(tensors_, place, &LayerTensorBox::place);
    };
    const auto present = [&](LayerPlace place) {
      return tensor_at(place) != tensors_.end() ||
             std::ranges::find(kernels_, place, &LayerKernelBox::place) != kernels_.end();
    };
    if (!present(arrow.from) || !present(arrow.to)) continue;
    if (arrow.kept && tensor_at(arrow.from)->result->saved_bytes == 0) continue;
    arrows_.push_back(arrow);
    const auto written = tensor_at(arrow.to);
    if (!arrow.has_elements || written == tensors_.end()) continue;
    const engine::TensorResult& result = *written->result;
    const engine::RunRequest& request = run_->result.effective;
    const std::int64_t bytes =
        result.rows * result.columns * engine::element_bytes(request, result.tensor);
    const std::optional<engine::ElementType> type = engine::element_of(request, result.tensor);
    if (!type || bytes == result.bytes) continue;
    written->elements = fmt::format("{}, {}", bytes_of(bytes), engine::element_name(*type));
  }
}

std::string_view LayerModel::label_of(const LayerArrow& arrow) const {
  if (!arrow.has_elements || arrow.from.column != arrow.to.column) return {};
  const auto to = std::ranges::find(tensors_, arrow.to, &LayerTensorBox::place);
  return to == tensors_.end() ? std::string_view() : std::string_view(to->elements);
}

void LayerModel::place_tensors() {
  tensors_.clear();
  int free = 0;  // cells of the grid, row by row
  const auto is_taken = [](LayerPlace place) {
    return std::ranges::find(kPlaces, place, &TensorPlace::place) != std::end(kPlaces) ||
           std::ranges::find(kBoxes, place, &BoxPlan::place) != std::end(kBoxes);
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
                        .has_numbers = one.quantization.has_value(),
                        .room = kept_room(*run_, one)});
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
    const bool forward = run_->result.effective.products.passes != engine::StepPasses::Backward;
    engine::RunRequest step = run_->result.effective;
    step.products.passes = engine::StepPasses::Forward;
    sentence_ = engine::error_sources(engine::program_of(step)).empty()
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
                                    profiling::decibel_text(-worst));
  } else {
    sentence_ = fmt::format("{} costs most: left unquantized, Y gains {} dB.", symbol,
                            profiling::decibel_text(first.gain_db));
  }
}

std::vector<RecipeMemory> recipe_memories(const engine::RunRequest& request,
                                          const std::vector<std::int64_t>& splits) {
  const auto of = [&](const engine::RunRequest& asked) {
    engine::RunRequest both = asked;
    both.products.passes = engine::StepPasses::ForwardBackward;
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
    memories.back().name = fmt::format(
        "{}, down {}", engine::recipe_label(request.recipe),
        engine::recipe_label(engine::projection_of(request, engine::Projection::Down).recipe));
    memories.back().chosen = true;
  }
  for (std::size_t i = 0; i < engine::kRecipeTraits.size(); ++i) {
    engine::RunRequest one = request;
    one.recipe.scaling = static_cast<engine::Scaling>(i);
    one.expert_layer.mixed_recipes = false;
    memories.push_back(of(one));
    memories.back().name = engine::recipe_label(one.recipe);
    memories.back().quantizes = engine::kRecipeTraits[i].quantizes();
    memories.back().chosen = !mixed && one.recipe.scaling == request.recipe.scaling;
  }
  return memories;
}

profiling::Table recipe_memories_table(const std::vector<RecipeMemory>& memories) {
  using profiling::column;
  using profiling::Measure;
  return {
      .name = "recipe_memories",
      .columns = {column("recipe"), column("x_bytes", Measure::Bytes, "X"),
                  column("h_bytes", Measure::Bytes, "H"), column("a_bytes", Measure::Bytes, "A"),
                  column("y_bytes", Measure::Bytes, "Y"),
                  profiling::for_people("activations together", Measure::Bytes),
                  column("weights_bytes", Measure::Bytes, "second copies of weights")},
      .rows = [&memories](const profiling::RowSink& sink) {
        const auto some = [](std::int64_t bytes) {
          return bytes > 0 ? profiling::Cell(bytes) : profiling::Cell();
        };
        for (const RecipeMemory& one : memories) {
          // A linear step has neither.
          const bool layer = one.h > 0 || one.a > 0;
          profiling::Cell a = some(one.a);
          if (layer && one.a == 0) a = profiling::worded(one.a, "0, computed again");
          sink({.cells = profiling::cells_of(one.name, one.x, some(one.h), std::move(a),
                                             some(one.y), one.activations(), one.weights)});
        }
      }};
}

namespace {

/// "1.28x less than BF16"
std::string times_of(std::int64_t own, std::int64_t other, const std::string& name) {
  const double ratio = static_cast<double>(own) / static_cast<double>(other);
  if (own == other) return "as much as " + name;
  return own < other ? fmt::format("{:.2f}x less than {}", 1.0 / ratio, name)
                     : fmt::format("{:.2f}x more than {}", ratio, name);
}

}  // namespace

std::string memory_sentence(const std::vector<RecipeMemory>& memories, bool has_backward) {
  const auto own = std::ranges::find(memories, true, &RecipeMemory::chosen);
  const auto plain = std::ranges::find(memories, false, &RecipeMemory::quantizes);
  if (own == memories.end() || plain == memories.end() || own->activations() == 0) return {};
  const std::string bytes = bytes_of(own->activations());
  if (!has_backward) {
    return fmt::format(
        "This step keeps nothing; with a backward pass {} would keep {} of activations.", own->name,
        bytes);
  }
  const std::string kept = fmt::format("{} keeps {} of activations", own->name, bytes);
  if (own == plain) return kept + ".";
  const std::string activations = times_of(own->activations(), plain->activations(), plain->name);
  if (own->weights == 0) return fmt::format("{}, {}.", kept, activations);
  // The copies of the weights may outweigh what the activations save.
  const std::int64_t all = own->activations() + own->weights;
  return fmt::format("{}, {}; with the second copies of weights ({}) it keeps {}, {}.", kept,
                     activations, bytes_of(own->weights), bytes_of(all),
                     times_of(all, plain->activations() + plain->weights, plain->name));
}

}  // namespace app
