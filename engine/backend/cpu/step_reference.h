// The FP32 products of layer 0's unquantized operands, and the error of the step's products.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/cpu_projection.h"
#include "engine/input/operand_store.h"
#include "engine/model/run_result.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

/// Y and dX by strips of rows, so that a large expert fits; Y's is kept between runs where the
/// operands are.
class StepReference {
 public:
  explicit StepReference(CpuProjection& step);

  /// Errors of the passes that ran, for the outputs just written by CpuLinearStep::run_expert;
  /// added to those of other experts, too.
  void measure(int expert, ExpertResult& result, OutputErrors& all);
  /// The same, added to those of other experts.
  void add(int expert, OutputErrors& errors);
  /// Every expert has been measured: the kept reference is complete.
  void complete();

 private:
  kernels::GroupProductError fprop(int expert);
  kernels::GroupProductError dgrad(int expert);
  kernels::GroupProductError wgrad(int expert);
  const float* fprop_rows(int expert, std::int64_t row, std::int64_t count);
  const float* weights(int expert);

  CpuProjection& step_;
  bool known_ = false;
  int weights_of_ = -1;
  Buffer<float> w_;  // [n, k] of the expert
  Buffer<float> x_;  // [rows, k]
  Buffer<float> g_;  // [rows, n]
  Buffer<float> y_;  // a reference
  Buffer<float> biased_;
};

}  // namespace engine
