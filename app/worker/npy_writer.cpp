#include "app/worker/npy_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace app {

engine::Status write_npy(const std::string& path, const std::string& dtype,
                         const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes) {
  constexpr std::size_t kPrefixBytes = 10;  // magic, version, header length
  constexpr std::size_t kAlignment = 64;    // as the format recommends, for memory mapping
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   dtype, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t unpadded = kPrefixBytes + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xFF);
  prefix += static_cast<char>(header.size() >> 8);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << prefix << header;
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
  }
  return {};
}

}  // namespace app
