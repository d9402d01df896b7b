// Tensors that a caller of the grouped step owns: the weights of a list, and outputs. They are
// foreign, so everything a product assumes about them is checked here, by name. Plain values:
// addresses are compared, never dereferenced.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// [rows, columns], rows `row_stride` elements apart.
struct CallerTensor {
  void* values = nullptr;
  ElementType type = ElementType::Bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;      // elements; 0 = columns
  std::int64_t capacity_bytes = 0;  // from `values` on; 0 = exactly the shape's size
  int device = 0;                   // kHostMemory, or the device that holds it

  std::int64_t stride() const { return row_stride == 0 ? columns : row_stride; }
};
inline constexpr int kHostMemory = -1;

enum class ScaleForm {
  RowMajor,  // as the kernels' CPU twins write them
  Swizzled,  // micro blocks in cuBLASLt's 128x4 tiles
};

/// One weight of a list with its quantizer.
struct ListedWeight {
  CallerTensor tensor;  // [n, k]; only read
  Recipe recipe;        // of its quantizer; settings for X and dY only are not compared
  ScaleForm scale_form = ScaleForm::RowMajor;
};

/// Requirements for every weight of a layer.
struct WeightDemand {
  int layer = 0;
  int num_groups = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Recipe recipe = {};
  ScaleForm scale_form = ScaleForm::RowMajor;
  int device = 0;
};

/// One grouped product reads all weights of a list with one description. InvalidArgument reports
/// the first difference: the layer, the expert, the attribute, both values and the remedy.
Status check_weight_list(const WeightDemand& demand, std::span<const ListedWeight> weights);

/// Requirements for an output. Extra rows are allowed and never written.
struct OutputDemand {
  std::string name;  // "dW, layer 1"
  ElementType type = ElementType::Bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int device = 0;
};

Status check_output(const OutputDemand& demand, const CallerTensor& tensor);

/// "BF16", "FP16", "FP32".
const char* element_name(ElementType type);

// The outputs of a step in memory given by the caller. Plain values: the same checks for the device
// and the CPU.

/// The caller's memory for the outputs of one layer; the step allocates outputs that are not given.
/// A tensor may have more rows than its output; nothing is written past the output's rows. A tensor
/// that does not fit, or that the step's passes do not write, is refused by name.
struct CallerOutputs {
  std::optional<CallerTensor> y;
  std::optional<CallerTensor> dx;
  std::optional<CallerTensor> dw;             // with products.accumulate_wgrad it is added to
  std::optional<CallerTensor> bias_gradient;  // layer 0 only
};

/// Outputs of one layer, in host or device memory.
struct LayerOutputs {
  void* y = nullptr;              // [capacity_rows, n]
  void* dx = nullptr;             // [capacity_rows, k]
  void* dw = nullptr;             // [num_groups * n, k] of products.wgrad_type
  void* bias_gradient = nullptr;  // [num_groups, n]; the same for every layer, so only layer 0's
};

/// An operand of one layer in host or device memory, loaded or written by another part of the step:
/// rows of all experts in Recipe::high_precision, with activation and gradient as in
/// kernels::GroupedInput.
struct OperandInput {
  const void* input = nullptr;
  kernels::Activation activation = {};
  const void* output_gradient = nullptr;
};

/// What a step writes.
struct OutputShape {
  int layers = 1;
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ElementType type = ElementType::Bf16;        // of Y and dX
  ElementType wgrad_type = ElementType::Bf16;  // of dW
  ElementType bias_type = ElementType::Bf16;   // of db
  bool forward = true;
  bool backward = false;
  bool bias = false;
  int device = 0;  // or kHostMemory
};

/// The caller's outputs if given, else null; one per layer. InvalidArgument names the output and
/// the attribute.
Result<std::vector<LayerOutputs>> take_outputs(const OutputShape& shape,
                                               const std::vector<CallerOutputs>& outputs);

}  // namespace engine
