// Errors of a step's outputs over all experts of layer 0.
#pragma once

#include <vector>

#include "engine/model/recorded_steps.h"
#include "engine/model/tensor_result.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

/// Error sums against the product of the unquantized operands; zero for a pass that did not run.
/// In an expert layer dW is that of Wup.
struct OutputErrors {
  kernels::GroupProductError y = {};
  kernels::GroupProductError dx = {};
  kernels::GroupProductError dw = {};

  kernels::GroupProductError& of(Product product) {
    return product == Product::Fprop ? y : product == Product::Dgrad ? dx : dw;
  }
  /// In the rows of Y, dX and dW of a linear step.
  void write_to(std::vector<TensorResult>& tensors) const {
    constexpr ProjectionTensors kOutputs = tensors_of(StepKind::Linear, Projection::Up);
    for (TensorResult& one : tensors) {
      if (one.tensor == kOutputs.y) one.error = product_accuracy(y);
      if (one.tensor == kOutputs.dx) one.error = product_accuracy(dx);
      if (one.tensor == kOutputs.dw) one.error = product_accuracy(dw);
    }
  }
  void write_to(RecordedStep& step) const {
    step.y_snr_db = product_accuracy(y).snr_db;
    step.dx_snr_db = product_accuracy(dx).snr_db;
    step.dw_snr_db = product_accuracy(dw).snr_db;
    step.y_left_out = product_accuracy(y).left_out();
    step.dx_left_out = product_accuracy(dx).left_out();
    step.dw_left_out = product_accuracy(dw).left_out();
  }
};

}  // namespace engine
