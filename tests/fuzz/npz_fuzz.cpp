// .npz archives: as operands and as recordings of routing. Members are stored or deflated .npy
// files.
#include "tests/fuzz/routing_reading.h"
#include "tests/fuzz/tensor_reading.h"

namespace fuzz {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

struct Member {
  std::string name;
  std::string content;
};

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

/// As np.savez writes it: every member stored, the directory at the end.
std::string archive(const std::vector<Member>& members) {
  std::string file;
  std::string directory;
  for (const Member& one : members) {
    const std::string sizes = number(crc_of(one.content), 4) + number(one.content.size(), 4) +
                              number(one.content.size(), 4) + number(one.name.size(), 2);
    // Version, flags, method, time and date.
    const std::string common = number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) + sizes;
    directory += "PK\1\2" + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(0, 4) + number(file.size(), 4) + one.name;
    file += "PK\3\4" + common + number(0, 2) + one.name + one.content;
  }
  const std::size_t begin = file.size();
  return file + directory + "PK\5\6" + number(0, 4) + number(members.size(), 2) +
         number(members.size(), 2) + number(directory.size(), 4) + number(begin, 4) + number(0, 2);
}

std::string npy(const std::string& type, const std::string& shape, std::size_t data_bytes) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return "\x93NUMPY\1" + number(0, 1) + number(header.size(), 2) + header +
         std::string(data_bytes, '\1');
}

}  // namespace

std::vector<std::string> seeds() {
  return {archive({{.name = "x.npy", .content = npy("<f4", "3, 2", 24)}}),
          archive({{.name = "x.npy", .content = npy("<f2", "2, 3", 12)},
                   {.name = "w.npy", .content = npy("<f4", "2, 2, 3", 48)},
                   {.name = "splits.npy", .content = npy("<i8", "2,", 16)}}),
          archive({{.name = "routed_experts.npy", .content = npy("<i2", "2, 3, 2", 24)}}),
          archive({{.name = "x.npy", .content = npy("<f4", "3, 2", 20)}}),
          archive({{.name = "x.npy", .content = "no array"}}),
          archive({{.name = "notes.txt", .content = "text"}}),
          archive({})};
}

std::vector<std::string> dictionary() {
  return {"PK\1\2",
          "PK\3\4",
          "PK\5\6",
          "PK\6\6",
          "PK\6\7",
          std::string("\1\0\x10\0", 4),
          "\xFF\xFF\xFF\xFF",
          "\x93NUMPY",
          "'<f4'",
          "'<i8'",
          "'shape'",
          ".npy",
          "x.npy"};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  const std::string path = fuzz::scratch_file("x.npz", content);
  const fuzz::CostLimit limit(size, fuzz::kRoutingMemory);
  // A member has a checksum, and may be deflated: both are read when it is opened.
  fuzz::read_tensors(path, fuzz::Listing::ContentIsCheckedWhenOpened);
  fuzz::read_routing(path);
  return 0;
}
