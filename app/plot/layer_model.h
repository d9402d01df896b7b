// What the Layer view derives from a run: the picture of an expert layer as boxes and arrows on a
// grid, what the quantization of each operand costs Y, and what every recipe keeps for backward. No
// ImGui calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/expert_layer.h"
#include "profiling/document/table.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/layer_times.h"

namespace app {

/// Forward goes from left to right in row 2, backward from right to left in row 3, below the same
/// columns; weights are above their products and their gradients below. Even columns are tensors,
/// odd columns kernels. Tokens are in the first and the last row; the kernels that permute them are
/// between them and their rows. Which boxes there are, the arrows between them and the stages in
/// them follow from the program of the run; only where they lie is decided here.
struct LayerPlace {
  int column = 0;
  int row = 0;
  bool operator==(const LayerPlace&) const = default;
};
inline constexpr int kLayerColumns = 7;
inline constexpr int kLayerRows = 6;

struct LayerArrow {
  LayerPlace from;
  LayerPlace to;
  bool kept = false;          // backward reads what forward has kept of it
  bool has_elements = false;  // what it leads to is written in high precision before its codes
  bool operator==(const LayerArrow&) const = default;
};

/// "3.0 GiB".
std::string bytes_of(std::int64_t bytes);

struct LayerTensorBox {
  const engine::TensorResult* result = nullptr;  // of the run
  LayerPlace place;
  bool has_numbers = false;  // it is an operand: This run shows its numbers
  std::int64_t room = 0;     // what is allocated for what is kept, where that is more
  /// "448.0 MiB, BF16": its elements as they are written, where `result` counts its codes. Empty
  /// where it has no codes, or where the elements are never written.
  std::string elements{};
};

struct LayerKernelTime {
  std::string label;  // the stage's name, or what sets it apart from another of that stage
  profiling::LayerTime of;
};

/// The kernels between tensors: those of one projection, of the activation or of a permutation, in
/// one direction.
struct LayerKernelBox {
  const char* id = "";     // "up", "activation", ..., "up_backward", "permute"
  const char* title = "";  // "up projection"
  std::string reads{};     // "X and Wup": what its quantize kernels read
  LayerPlace place;
  std::vector<LayerKernelTime> times;
  std::string note{};  // where there are none: why
  double bytes = 0.0;  // of a permutation: what it moves, counted
};

struct ErrorBar {
  engine::StepTensor tensor = engine::StepTensor::X;
  double snr_db = 0.0;  // of Y with this tensor left unquantized
  std::uint64_t left_out = 0;
  double gain_db = 0.0;  // over the run's own; NaN where that is not known
};

class LayerModel {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  /// Sets a run that has RunResult::expert_layer.
  void set(Run run, std::uint64_t generation);

  const profiling::RecordedRun& run() const { return *run_; }
  std::uint64_t generation() const { return generation_; }
  const std::vector<LayerTensorBox>& tensors() const { return tensors_; }
  const std::vector<LayerKernelBox>& kernels() const { return kernels_; }
  const std::vector<LayerArrow>& arrows() const { return arrows_; }
  /// Of an arrow down or up a column: what is written, where the box that it leads to shows codes.
  std::string_view label_of(const LayerArrow& arrow) const;
  /// Error sources, largest gain first.
  const std::vector<ErrorBar>& errors() const { return errors_; }
  double own_snr_db() const { return own_snr_db_; }  // of Y; NaN without a forward pass
  /// Names the tensor whose quantization costs most, or says why none does.
  const std::string& sentence() const { return sentence_; }

 private:
  void place_tensors();
  void place_arrows(const std::vector<LayerArrow>& arrows);
  void derive_errors();

  Run run_;
  std::uint64_t generation_ = 0;
  std::vector<LayerTensorBox> tensors_;
  std::vector<LayerKernelBox> kernels_;
  std::vector<LayerArrow> arrows_;
  std::vector<ErrorBar> errors_;
  double own_snr_db_ = 0.0;
  std::string sentence_;
};

/// What forward keeps for backward under one recipe.
struct RecipeMemory {
  std::string name;     // "FP8 block"; with a scaling of its own for down: "FP8 block, down BF16"
  bool chosen = false;  // it is the request's own
  bool quantizes = true;
  std::int64_t x = 0;
  std::int64_t h = 0;
  std::int64_t a = 0;
  std::int64_t y = 0;        // where the step begins at tokens
  std::int64_t weights = 0;  // second copies of Wup and Wdown

  std::int64_t activations() const { return x + h + a + y; }
};
/// Memory of one layer of the request under every recipe, as if the step had a backward pass. If
/// its projections have different recipes, the request's own combination comes first.
std::vector<RecipeMemory> recipe_memories(const engine::RunRequest& request,
                                          const std::vector<std::int64_t>& splits);
/// The memories must outlive the table.
profiling::Table recipe_memories_table(const std::vector<RecipeMemory>& memories);
/// "FP8 block keeps 1.8x less than BF16; with the second copies of weights ...", of the request.
std::string memory_sentence(const std::vector<RecipeMemory>& memories, bool has_backward);

}  // namespace app
