// .npy and .safetensors files as text, for tests that write them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace engine {

inline std::string little_endian_text(std::uint64_t value, std::size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&value), bytes);
}

/// The values in `bytes` bytes each.
inline std::string integers_text(const std::vector<std::int64_t>& values, std::size_t bytes) {
  std::string text;
  for (const std::int64_t value : values) {
    text += little_endian_text(static_cast<std::uint64_t>(value), bytes);
  }
  return text;
}

/// `shape` "2, 3, 4": a whole file of FP32.
inline std::string npy_floats(const std::string& shape, const std::vector<float>& values) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + little_endian_text(header.size(), 2) + header +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

/// `descr` "<i2" and `shape` "2, 3, 4": a whole file.
inline std::string npy_integers(const std::string& descr, const std::string& shape,
                                const std::vector<std::int64_t>& values) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + little_endian_text(header.size(), 2) + header +
         integers_text(values, static_cast<std::size_t>(descr.back() - '0'));
}

struct SafeTensor {
  std::string name;
  std::string dtype;  // "I16"
  std::string shape;  // "2, 3"
  std::vector<std::int64_t> values;
  std::size_t bytes = 2;  // of a value
};

inline std::string safetensors_integers(const std::vector<SafeTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const SafeTensor& one : tensors) {
    const std::string text = integers_text(one.values, one.bytes);
    header += (header.size() > 1 ? ", \"" : "\"") + one.name + "\": {\"dtype\": \"" + one.dtype +
              "\", \"shape\": [" + one.shape + "], \"data_offsets\": [" +
              std::to_string(data.size()) + ", " + std::to_string(data.size() + text.size()) + "]}";
    data += text;
  }
  header += "}";
  return little_endian_text(header.size(), 8) + header + data;
}

}  // namespace engine
