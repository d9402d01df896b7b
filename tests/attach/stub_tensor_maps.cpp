// The stub driver's tensor maps. As the real ones are: 128 bytes in which no address can be read.
#include <bit>
#include <cstdint>

#include "tests/attach/stub_state.h"

namespace {

std::uint64_t scrambled(const void* address) {
  return std::rotl(~reinterpret_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15, 23);
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  if (rank == 0 || rank > 5 || reinterpret_cast<std::uint64_t>(address) % 16 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *map = {};
  map->opaque[0] = scrambled(address);
  map->opaque[1] = std::uint64_t{rank} << 8 | static_cast<std::uint64_t>(type);
  map->opaque[2] = static_cast<std::uint64_t>(swizzle);
  for (cuuint32_t d = 0; d < rank; ++d) {
    map->opaque[3 + d] = ~dims[d];
    map->opaque[8 + d] = ~std::uint64_t{box[d]};
    if (d + 1 < rank) map->opaque[12 + d] = ~strides[d];
  }
  return CUDA_SUCCESS;
}
CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  map->opaque[0] = scrambled(address);
  return CUDA_SUCCESS;
}

}  // extern "C"
