// How a reader calls a piece of a step's work, wherever it is seen: a kernel's record, a node of a
// graph, a row of a table. The one place with these words.
#pragma once

#include <string>
#include <unordered_map>

#include "engine/model/stage.h"
#include "engine/model/written_value.h"

namespace engine {

/// "quantize Wup, columnwise", "fprop up", "sum db". Empty if it is not known what the work writes,
/// as in recordings from before this was recorded.
std::string operation_name(StepKind step, Stage stage, WrittenValue writes);

/// The same where a reader must be told something: by stage alone where it has no name.
std::string operation_or_stage(StepKind step, Stage stage, WrittenValue writes);

/// operation_name() with its layer: "fprop up, layer 0". By stage alone where it has no name:
/// "fprop, layer 0, up". `linear_layer` counts as WorkTag::layer.
std::string operation_title(StepKind step, Stage stage, WrittenValue writes, int linear_layer);

/// operation_name() of one step's work, each made once: for spans that take microseconds, and
/// traces of millions of records. One thread.
class OperationNames {
 public:
  explicit OperationNames(StepKind step) : step_(step) {}
  /// Valid as long as this object.
  const std::string& of(Stage stage, WrittenValue writes);

 private:
  StepKind step_;
  std::unordered_map<int, std::string> names_;
};

}  // namespace engine
