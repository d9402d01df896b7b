// Shape presets: JSON files in assets/shapes, one preset per file. A preset of a whole expert layer
// also says which activation it has, and whether its projections have biases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

struct ShapePreset {
  std::string name;         // "Mixtral 8x7B up"
  std::string description;  // where the numbers come from
  bool laptop = false;      // small enough to run live on a CPU
  ShapeSpec shape;          // names the preset
  StepKind step = StepKind::Linear;
  LayerActivation activation = LayerActivation::SwiGlu;  // of an expert layer
  bool bias = false;                                     // of an expert layer
  int top_k = 0;  // of an expert layer: experts of a token of the model; 0 = not known
};

/// The only way in which a preset becomes part of a request. It sets shape and step; for an expert
/// layer also activation and bias, which a linear preset leaves unchanged. Rows then arrive
/// permuted: top_k is set only on request.
void apply_preset(const ShapePreset& preset, RunRequest& request);

/// A preset's name is kept only with its own step and sizes, and dropped from others. An error
/// if no preset has the name.
Status reconcile_preset_name(const std::vector<ShapePreset>& presets, RunRequest& request);

/// Every preset of the folder, sorted by the files' names. A broken file is an error that names it.
Result<std::vector<ShapePreset>> load_presets(const std::string& folder);

/// Compares letters, in any case, and digits only. The error lists the names.
Result<ShapePreset> find_preset(const std::vector<ShapePreset>& presets, std::string_view name);

}  // namespace engine
