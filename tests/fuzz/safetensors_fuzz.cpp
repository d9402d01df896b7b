// .safetensors files: tensors one by one, lists with a tensor an expert, recordings of routing.
#include "tests/fuzz/routing_reading.h"
#include "tests/fuzz/tensor_reading.h"

namespace fuzz {
namespace {

std::string safetensors(const std::string& header, std::size_t data_bytes) {
  std::string text;
  for (int shift = 0; shift < 64; shift += 8) {
    text += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> shift & 0xFF);
  }
  return text + header + std::string(data_bytes, '\1');
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      safetensors(R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24),
      safetensors(
          R"({"__metadata__":{"a":"b"},"x":{"dtype":"BF16","shape":[2,2,3],)"
          R"("data_offsets":[1,25]},"y":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}})",
          30),
      safetensors(R"({"e.0.w":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},)"
                  R"("e.1.w":{"dtype":"F16","shape":[1,2],"data_offsets":[4,8]},)"
                  R"("e.2.w":{"dtype":"F8_E4M3","shape":[1,2],"data_offsets":[8,10]}})",
                  10),
      safetensors(R"({"e.0.w":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                  R"("e.1.w":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})",
                  4),
      safetensors(R"({"logical_count":{"dtype":"I32","shape":[2,1,3],"data_offsets":[0,24]}})", 24),
      safetensors(R"({"x":{"dtype":"I16","shape":[67108864,2,0],"data_offsets":[0,0]}})", 0),
      safetensors(R"({"step0.layer3":{"dtype":"I16","shape":[2,2],"data_offsets":[0,8]},)"
                  R"("step0.layer4":{"dtype":"I16","shape":[1,2],"data_offsets":[8,12]},)"
                  R"("step1.layer3":{"dtype":"U8","shape":[2,1],"data_offsets":[12,14]},)"
                  R"("step1.layer4":{"dtype":"I64","shape":[0,2],"data_offsets":[14,14]}})",
                  14)};
}

std::vector<std::string> dictionary() {
  return {"\"dtype\"",
          "\"shape\"",
          "\"data_offsets\"",
          "__metadata__",
          "\"F32\"",
          "\"F16\"",
          "\"BF16\"",
          "\"I64\"",
          "\"I32\"",
          "\"I16\"",
          "\"U8\"",
          "logical_count",
          "routed_experts",
          "step1.layer2",
          "{",
          "}",
          "[",
          "]",
          ":",
          ",",
          "[0,0]",
          "{}",
          ".0.",
          ".1.",
          ".00.",
          "-1",
          "1e3",
          "null",
          "18446744073709551615",
          "9223372036854775807",
          "\\u0000",
          "\\ud800"};
}

}  // namespace fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t capacity, unsigned int seed) {
  size = LLVMFuzzerMutate(bytes, size, capacity);
  // Few mutations would ever get past the length in front; let some keep it right.
  if (size < 8 || seed % 4 == 0) return size;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::size_t end = text.rfind('}');
  if (end == std::string_view::npos || end < 8) return size;
  std::uint64_t header = end + 1 - 8;
  for (std::size_t i = 0; i < 8; ++i, header >>= 8) bytes[i] = static_cast<std::uint8_t>(header);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  const std::string path = fuzz::scratch_file("x.safetensors", content);
  const fuzz::CostLimit limit(size, fuzz::kRoutingMemory);
  fuzz::read_tensors(path);
  fuzz::read_routing(path);
  return 0;
}
