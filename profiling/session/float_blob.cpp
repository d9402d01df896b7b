// The declared content size is compared with the expected one before anything is allocated: a few
// bytes of zstd can claim to hold terabytes.
#include "profiling/session/float_blob.h"

#include <fmt/format.h>
#include <zstd.h>

#include <bit>

namespace profiling {

static_assert(std::endian::native == std::endian::little, "blobs are little-endian");

std::vector<std::byte> compress_floats(std::span<const float> values) {
  std::vector<std::byte> blob(ZSTD_compressBound(values.size_bytes()));
  const std::size_t size = ZSTD_compress(blob.data(), blob.size(), values.data(),
                                         values.size_bytes(), ZSTD_CLEVEL_DEFAULT);
  // With a buffer of the bound's size only memory exhaustion can fail; an empty blob is refused by
  // the reader's count.
  blob.resize(ZSTD_isError(size) != 0U ? 0 : size);
  return blob;
}

engine::Result<std::vector<float>> decompress_floats(std::span<const std::byte> blob,
                                                     std::size_t count) {
  const std::size_t expected = count * sizeof(float);
  const unsigned long long content = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN) {
    return engine::Error{engine::ErrorCode::Io, "is not a zstd frame of known size"};
  }
  if (content != expected) {
    return engine::Error{
        engine::ErrorCode::Io,
        fmt::format("declares {} bytes of content where {} belong", content, expected)};
  }
  std::vector<float> values(count);
  const std::size_t size = ZSTD_decompress(values.data(), expected, blob.data(), blob.size());
  if (ZSTD_isError(size) != 0U) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("does not decompress: {}", ZSTD_getErrorName(size))};
  }
  if (size != expected) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("holds {} bytes where {} belong", size, expected)};
  }
  return values;
}

}  // namespace profiling
