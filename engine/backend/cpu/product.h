// Y = X W^T through OpenBLAS. OpenBLAS runs on one thread and OpenMP hands out tiles, so that one
// thread pool, not two, uses the cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace engine {

struct ProductArgs {
  const float* x = nullptr;  // [m, k]
  const float* w = nullptr;  // [n, k]
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// Exactly one output: FP32, or rounded to BF16 (nearest even).
  float* y_f32 = nullptr;           // [m, n]
  std::uint16_t* y_bf16 = nullptr;  // [m, n]
  /// Once set, the tiles that are left are skipped: one product may take minutes.
  const std::atomic<bool>* cancel = nullptr;
};

void product(const ProductArgs& args);

/// Takes OpenBLAS's own threads out of the way; once, before the first product.
void confine_openblas();
/// "OpenBLAS 0.3.21".
std::string openblas_name();

}  // namespace engine
