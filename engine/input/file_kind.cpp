#include "engine/input/file_kind.h"

#include <cstdint>
#include <cstring>

namespace engine {
namespace {

struct KnownFile {
  std::string_view magic;
  const char* is;
};

constexpr const char* kAsOperand =
    "; a request names it as activations.file.path, weights.file.path or "
    "products.gradients.file.path";

using std::string_view_literals::operator""sv;

constexpr KnownFile kKnownFiles[] = {
    {"SQLite format 3\0"sv, "an SQLite database, as recordings are; expertscope open shows those"},
    {"digraph"sv, "a graph as text (.dot); expertscope doctor --snapshot examines it"},
    {"strict digraph"sv, "a graph as text (.dot); expertscope doctor --snapshot examines it"},
    {"PK\x03\x04"sv,
     "a ZIP archive, as .npz and .pt files are; one of np.savez must be named .npz"},
    {"\x1f\x8b"sv, "compressed with gzip; uncompress it first"},
    {"\x7f"
     "ELF"sv,
     "a program or a library"},
    {"\x89PNG"sv, "a picture"},
};

/// Eight bytes that give the length of a header, then the header, which is JSON.
bool is_safetensors(std::string_view start) {
  std::uint64_t header_bytes = 0;
  if (start.size() <= sizeof(header_bytes) || start[sizeof(header_bytes)] != '{') return false;
  std::memcpy(&header_bytes, start.data(), sizeof(header_bytes));
  return header_bytes < std::uint64_t{1} << 32;
}

}  // namespace

std::string kind_of_file(std::string_view start) {
  if (start.starts_with("\x93NUMPY")) return std::string("a NumPy tensor (.npy)") + kAsOperand;
  for (const KnownFile& known : kKnownFiles) {
    if (start.starts_with(known.magic)) return known.is;
  }
  if (is_safetensors(start)) return std::string("a .safetensors file") + kAsOperand;
  return {};
}

}  // namespace engine
