// .npy files: as operands and as splits.
#include "engine/input/routing.h"
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
          npy(header_of(">f4", "3, 2"), 24),
          npy(header_of("<f4", "0, 2"), 0),
          npy(header_of("|O", "2,"), 16),
          npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8),
          npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16)};
}

std::vector<std::string> dictionary() {
  return {"\x93NUMPY", "'descr'", "'fortran_order'",
          "'shape'",   "'<f4'",   "'<f2'",
          "'<u2'",     "'<i8'",   "'<i4'",
          "True",      "False",   "(",
          ")",         ", ",      "9223372036854775807",
          "-1",        "0",       "4294967296",
          "{",         "}",       "[",
          "\n",        "16777216"};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  const std::string path = fuzz::scratch_file("x.npy", content);
  const fuzz::CostLimit limit(size);
  fuzz::read_tensors(path);
  const auto splits = engine::read_splits_file(path);
  if (!fuzz::accepted(splits)) return 0;
  fuzz::require(splits.value().size() <= engine::kMaxExperts, "no more splits than experts");
  engine::RunRequest request;
  request.routing.distribution = engine::RoutingDistribution::File;
  request.routing.path = path;
  request.shape.num_experts = static_cast<int>(splits.value().size());
  request.shape.tokens = 0;
  for (const std::int64_t split : splits.value()) {
    if (split < 0 || split > engine::kMaxDimension) break;
    request.shape.tokens += split;
  }
  const auto shape = engine::resolve_shape(request);
  if (fuzz::accepted(shape)) {
    fuzz::require(shape.value().splits == splits.value(), "splits are taken as they stand");
  }
  return 0;
}
