// The declared content size is compared with the expected one before anything is decompressed: a
// few bytes of zstd can claim to hold terabytes.
#include "profiling/session/byte_blob.h"

#include <fmt/format.h>
#include <zstd.h>

namespace profiling {

std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes) {
  std::vector<std::byte> blob(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  // With a buffer of the bound's size only memory exhaustion can fail; an empty blob is refused by
  // the reader's count.
  blob.resize(ZSTD_isError(size) != 0U ? 0 : size);
  return blob;
}

engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target) {
  const unsigned long long content = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN) {
    return engine::Error{engine::ErrorCode::Io, "is not a zstd frame of known size"};
  }
  if (content != target.size()) {
    return engine::Error{
        engine::ErrorCode::Io,
        fmt::format("declares {} bytes of content where {} belong", content, target.size())};
  }
  const std::size_t size = ZSTD_decompress(target.data(), target.size(), blob.data(), blob.size());
  if (ZSTD_isError(size) != 0U) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("does not decompress: {}", ZSTD_getErrorName(size))};
  }
  if (size != target.size()) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("holds {} bytes where {} belong", size, target.size())};
  }
  return {};
}

}  // namespace profiling
