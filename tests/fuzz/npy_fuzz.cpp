// .npy files: as operands and as recordings of routing.
#include "tests/fuzz/routing_reading.h"
#include "tests/fuzz/tensor_reading.h"

namespace fuzz {
namespace {

std::string npy(const std::string& header, std::size_t data_bytes, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  for (int shift = 0; shift < (version == 1 ? 16 : 32); shift += 8) {
    text += static_cast<char>(header.size() >> shift & 0xFF);
  }
  return text + header + std::string(data_bytes, '\1');
}

std::string header_of(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
}

}  // namespace

std::vector<std::string> seeds() {
  return {npy(header_of("<f4", "3, 2"), 24),
          npy(header_of("<f2", "2, 3, 2"), 24, 2),
          npy(header_of("<u2", "4, 1"), 8, 3),
          npy(header_of("<i8", "4,"), 32),
          npy(header_of("<i4", "3,"), 12),
          npy(header_of("<i2", "2, 3, 2"), 24),
          npy(header_of("<i4", "2, 2, 3"), 48),
          npy(header_of("|u1", "2, 2, 2, 1"), 8),
          npy(header_of("<i2", "4611686018427387904, 0"), 0),
          npy(header_of(">f4", "3, 2"), 24),
          npy(header_of("<f4", "0, 2"), 0),
          npy(header_of("|O", "2,"), 16),
          npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8),
          npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16)};
}

std::vector<std::string> dictionary() {
  return {"\x93NUMPY", "'descr'",  "'fortran_order'",
          "'shape'",   "'<f4'",    "'<f2'",
          "'<u2'",     "'<i8'",    "'<i4'",
          "True",      "False",    "(",
          ")",         ", ",       "9223372036854775807",
          "-1",        "0",        "4294967296",
          "{",         "}",        "[",
          "\n",        "16777216", "'<i2'",
          "'|u1'",     "67108864"};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  const std::string path = fuzz::scratch_file("x.npy", content);
  const fuzz::CostLimit limit(size, fuzz::kRoutingMemory);
  fuzz::read_tensors(path);
  fuzz::read_routing(path);
  return 0;
}
