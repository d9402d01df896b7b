// Descriptions of tensors for the copy engine.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>

#include "kernels/common/types.h"

namespace kernels::products {

/// A tensor of up to three dimensions, the innermost first, and the box that is copied at a time.
struct TensorShape {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  int element_bytes = 1;
  int dimensions = 2;
  std::array<std::int64_t, 3> size = {1, 1, 1};
  std::array<std::int64_t, 3> box = {1, 1, 1};
  bool swizzled = false;  // lines of 128 bytes
};

/// D of a product, stored 16 rows and 128 bytes of each at a time.
TensorShape output_shape(InputType type, const std::array<std::int64_t, 3>& size);

/// False if the driver is too old, or the copy engine cannot address the tensor.
bool encode_tensor_map(CUtensorMap& map, const void* data, const TensorShape& shape);

/// The copy engine can begin here.
inline bool copy_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace kernels::products
