// Opening by extension, and reading values out of a mapping. Data in a .safetensors file may start
// at any byte, so elements are copied out, never read through a typed pointer.
#include "engine/input/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "engine/input/element_rounding.h"
#include "engine/model/path_text.h"

namespace engine {
namespace {

constexpr std::int64_t kParallelConversion = 1 << 16;

template <class Stored>
Stored load(const std::byte* bytes, std::int64_t index) {
  Stored value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(Stored)), sizeof(Stored));
  return value;
}

/// memcpy that allows a null pointer for zero bytes: an operand without rows has one.
void copy_bytes(const std::byte* from, std::int64_t count, std::span<std::byte> to) {
  std::copy_n(from, count, to.data());
}

class FileSource final : public TensorSource {
 public:
  explicit FileSource(FileView view) : view_(std::move(view)) {
    const StoredTensor& tensor = view_.file->tensors[view_.index];
    bytes_ = tensor.bytes.data();
    type_ = tensor.type;
  }

  ElementType element() const override {
    if (type_ == StoredType::F32) return ElementType::Fp32;
    return type_ == StoredType::F16 ? ElementType::Fp16 : ElementType::Bf16;
  }
  std::int64_t rows() const override { return view_.rows; }
  std::int64_t columns() const override { return view_.columns; }

  void read_f32(std::int64_t first_row, std::int64_t count, std::span<float> out) const override {
    const std::int64_t values = count * view_.columns;
    const std::byte* from = bytes_ + first_row * view_.columns * stored_size(type_);
    float* to = out.data();
    if (type_ == StoredType::F32) {
      copy_bytes(from, values * stored_size(type_), std::as_writable_bytes(out));
    } else if (type_ == StoredType::F16) {
#pragma omp parallel for schedule(static) if (values >= kParallelConversion)
      for (std::int64_t i = 0; i < values; ++i) to[i] = fp16_value(load<std::uint16_t>(from, i));
    } else {
#pragma omp parallel for schedule(static) if (values >= kParallelConversion)
      for (std::int64_t i = 0; i < values; ++i) to[i] = bf16_value(load<std::uint16_t>(from, i));
    }
  }

  void read_bf16(std::int64_t first_row, std::int64_t count,
                 std::span<std::uint16_t> out) const override {
    const std::int64_t values = count * view_.columns;
    const std::byte* from = bytes_ + first_row * view_.columns * stored_size(type_);
    std::uint16_t* to = out.data();
    if (type_ == StoredType::F32) {
#pragma omp parallel for schedule(static) if (values >= kParallelConversion)
      for (std::int64_t i = 0; i < values; ++i) to[i] = bf16_bits(load<float>(from, i));
    } else if (type_ == StoredType::F16) {
#pragma omp parallel for schedule(static) if (values >= kParallelConversion)
      for (std::int64_t i = 0; i < values; ++i) {
        to[i] = bf16_bits(fp16_value(load<std::uint16_t>(from, i)));
      }
    } else {
      copy_bytes(from, values * stored_size(type_), std::as_writable_bytes(out));
    }
  }

 private:
  FileView view_;
  const std::byte* bytes_ = nullptr;
  StoredType type_ = StoredType::F32;
};

}  // namespace

Result<TensorFile> open_tensor_file(const std::string& path, const TensorsWanted& wanted) {
  const bool npy = path.ends_with(".npy");
  const bool npz = path.ends_with(".npz");
  if (!npy && !npz && !path.ends_with(".safetensors")) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{}: only .npy, .npz and .safetensors files are read", shown_path(path))};
  }
  ENGINE_ASSIGN(MappedFile file, MappedFile::open(path));
  std::vector<StoredTensor> tensors;
  if (npz) {
    ENGINE_ASSIGN(NpzTensors archive, parse_npz(file.bytes(), path, wanted));
    return TensorFile{std::move(file), std::move(archive.tensors), std::move(archive.inflated)};
  }
  if (npy) {
    ENGINE_ASSIGN(StoredTensor tensor, parse_npy(file.bytes(), path));
    tensors.push_back(std::move(tensor));
  } else {
    ENGINE_ASSIGN(tensors, parse_safetensors(file.bytes(), path));
  }
  return TensorFile{std::move(file), std::move(tensors)};
}

Result<std::int64_t> element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(count, dimension, &count)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("shape {} has a negative dimension or more than 2^63 elements",
                               shape_text(shape))};
    }
  }
  return count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::int64_t stored_size(StoredType type) {
  switch (type) {
    case StoredType::Unusable:
      return 0;
    case StoredType::U8:
      return 1;
    case StoredType::F16:
    case StoredType::Bf16:
    case StoredType::I16:
      return 2;
    case StoredType::F32:
    case StoredType::I32:
      return 4;
    case StoredType::I64:
      break;
  }
  return 8;
}

bool is_integer(StoredType type) {
  return type == StoredType::U8 || type == StoredType::I16 || type == StoredType::I32 ||
         type == StoredType::I64;
}

std::string element_name(const StoredTensor& tensor) {
  switch (tensor.type) {
    case StoredType::Unusable:
      break;
    case StoredType::F32:
      return "F32";
    case StoredType::F16:
      return "F16";
    case StoredType::Bf16:
      return "BF16";
    case StoredType::U8:
      return "U8";
    case StoredType::I16:
      return "I16";
    case StoredType::I32:
      return "I32";
    case StoredType::I64:
      return "I64";
  }
  return tensor.dtype;
}

std::unique_ptr<TensorSource> make_file_source(FileView view) {
  return std::make_unique<FileSource>(std::move(view));
}

}  // namespace engine
