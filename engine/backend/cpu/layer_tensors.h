// Memory of the tensors that an expert layer makes between the products of its projections, as the
// step's program and the table of tensors describe them: an added tensor has memory by existing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/input/operand_store.h"
#include "engine/program/step_program.h"

namespace engine {

/// Memory by StepTensor, kept between runs.
using TensorBuffers = std::array<Buffer<std::byte>, kStepTensors.size()>;

/// Rows of all experts, or tokens. A projection has memory of its own for what only it reads and
/// writes: an expert at a time is enough for that.
class LayerTensors {
 public:
  LayerTensors(const StepProgram& program, TensorBuffers& buffers);

  bool has(StepTensor tensor) const { return at(tensor, 0) != nullptr; }
  /// Null without has().
  std::byte* at(StepTensor tensor, int layer) const;
  template <class T>
  T* as(StepTensor tensor, int layer = 0) const {
    return reinterpret_cast<T*>(at(tensor, layer));
  }
  /// From row `row`.
  std::byte* row(StepTensor tensor, int layer, std::int64_t row) const;

 private:
  struct Place {
    std::byte* memory = nullptr;
    std::int64_t row_bytes = 0;
    std::int64_t layer_bytes = 0;  // from one layer to the next; 0 = all use the same memory
  };
  std::array<Place, kStepTensors.size()> places_ = {};
};

}  // namespace engine
