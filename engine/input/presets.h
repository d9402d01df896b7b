// Shape presets: JSON files in assets/shapes, one preset per file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/shape.h"

namespace engine {

struct ShapePreset {
  std::string name;         // "Mixtral 8x7B up"
  std::string description;  // where the numbers come from
  bool laptop = false;      // small enough to run live on a CPU
  ShapeSpec shape;          // names the preset
};

/// Every preset of the folder, sorted by the files' names. A broken file is an error that names it.
Result<std::vector<ShapePreset>> load_presets(const std::string& folder);

/// Only letters, in any case, and digits count. An error lists the names.
Result<ShapeSpec> find_preset(const std::vector<ShapePreset>& presets, std::string_view name);

}  // namespace engine
