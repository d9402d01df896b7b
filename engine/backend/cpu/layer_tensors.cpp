#include "engine/backend/cpu/layer_tensors.h"

#include <span>
#include <vector>

#include "engine/model/projections.h"
#include "engine/program/lives.h"

namespace engine {
namespace {

/// What is done to an operand, in a product, or to a product's output.
bool is_of_projection(const Operation& operation) {
  return operation.traits().by_expert && !operation.traits().by_row;
}

/// Tensors that an operation of the layer reads or writes, or the activation in a fused quantize
/// pass or sum.
std::array<bool, kStepTensors.size()> tensors_of_layer(const StepProgram& program) {
  std::array<bool, kStepTensors.size()> used = {};
  const auto add = [&](const Operation& operation) {
    const ProjectionTensors own = tensors_of(program.request.step, operation.projection);
    const bool of_projection = is_of_projection(operation);
    for (const std::vector<Value>* values : {&operation.reads, &operation.writes}) {
      for (const Value& value : *values) {
        const bool own_operand =
            value.tensor == own.x || value.tensor == own.w || value.tensor == own.dy;
        const bool own_output = value.tensor == own.y || value.tensor == own.dx ||
                                value.tensor == own.dw || value.tensor == own.b ||
                                value.tensor == own.db;
        if (of_projection && (own_operand || own_output)) continue;
        used[static_cast<std::size_t>(value.tensor)] = true;
      }
    }
  };
  for (const Operation& operation : program.prepare) add(operation);
  for (const ProgramPart& part : program.parts) {
    for (const Operation& operation : part.operations) add(operation);
  }
  return used;
}

}  // namespace

LayerTensors::LayerTensors(const StepProgram& program, TensorBuffers& buffers) {
  const RunRequest& request = program.request;
  const std::array<bool, kStepTensors.size()> used = tensors_of_layer(program);
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    if (!used[i] || !makes(program, tensor)) continue;
    const TensorExtent extent = extent_of(request, tensor);
    const std::int64_t rows = extent.routed ? request.shape.rows : extent.rows;  // of any splits
    Place& place = places_[i];
    place.row_bytes = extent.columns * element_bytes(request, tensor);
    const int places = places_of(program, tensor);
    if (places > 1) place.layer_bytes = rows * place.row_bytes;
    place.memory = buffers[i].reserve(places * rows * place.row_bytes);
  }
}

std::byte* LayerTensors::at(StepTensor tensor, int layer) const { return row(tensor, layer, 0); }

std::byte* LayerTensors::row(StepTensor tensor, int layer, std::int64_t row) const {
  const Place& place = places_[static_cast<std::size_t>(tensor)];
  if (place.memory == nullptr) return nullptr;
  return place.memory + layer * place.layer_bytes + row * place.row_bytes;
}

}  // namespace engine
