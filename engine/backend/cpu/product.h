// Y = X W^T, and its transposed variants, through OpenBLAS. OpenBLAS runs on one thread and OpenMP
// distributes tiles, so that only one thread pool uses the cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/model/run_request.h"

namespace engine {

/// Sums over k; zeros if k is 0.
struct ProductArgs {
  const float* x = nullptr;   // [m, k], or [k, m]
  const float* w = nullptr;   // [n, k], or [k, n]
  bool x_transposed = false;  // x is [k, m]: dY of wgrad
  bool w_transposed = false;  // w is [k, n]: W of dgrad, X of wgrad
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ElementType y_type = ElementType::Bf16;
  void* y = nullptr;        // [m, n] of y_type; narrow types rounded to nearest even
  bool accumulate = false;  // y += the product: FP32 sum, then rounded
  /// Once set, the remaining tiles are skipped: one product may take minutes.
  const std::atomic<bool>* cancel = nullptr;
};

void product(const ProductArgs& args);

/// Disables OpenBLAS's own threads; once, before the first product.
void confine_openblas();
/// "OpenBLAS 0.3.21".
std::string openblas_name();

}  // namespace engine
