// What .npy, .npz and .safetensors files have in common once their headers are read: typed, shaped
// byte ranges. Files are untrusted: a range is only handed out after it was checked against the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/input/regular_file.h"
#include "engine/input/tensor_source.h"
#include "engine/model/error.h"

namespace engine {

enum class StoredType { Unusable, F32, F16, Bf16, U8, I16, I32, I64 };

struct StoredTensor {
  std::string name;   // empty for .npy
  std::string dtype;  // as the file says
  std::vector<std::int64_t> shape;
  StoredType type = StoredType::Unusable;
  std::string reason;         // a sentence, when Unusable
  bool column_major = false;  // Fortran's order, which is the reason
  // Empty when Unusable, or when it is compressed and was not wanted; else exactly elements * size.
  std::span<const std::byte> bytes;
};

/// A compressed tensor in memory.
struct InflatedBytes {
  std::unique_ptr<std::byte[]> bytes;
  std::uint64_t size = 0;
};

struct TensorFile {
  MappedFile file;
  std::vector<StoredTensor> tensors;         // at least one; ranges inside `file` or `inflated`
  std::vector<InflatedBytes> inflated = {};  // of an archive
};

/// Whose values are read: where a tensor is compressed, that costs its size in memory.
struct TensorsWanted {
  bool any = true;
  std::string name = {};  // one tensor, or a list of them (kExpertPlace); empty = all

  bool has(std::string_view tensor) const {
    return any && (name.empty() || name == tensor || name.find("{}") != std::string::npos);
  }
};

/// Reads the header that the path's extension names (.npy, .npz or .safetensors).
Result<TensorFile> open_tensor_file(const std::string& path, const TensorsWanted& wanted = {});

/// Product of the dimensions; an error when one is negative or the product passes 2^63.
Result<std::int64_t> element_count(const std::vector<std::int64_t>& shape);
std::string shape_text(const std::vector<std::int64_t>& shape);
std::int64_t stored_size(StoredType type);  // bytes per element; 0 for Unusable
bool is_integer(StoredType type);           // may be routing; never an operand
/// "BF16", whichever way the file spells it; what the file says where it cannot be used.
std::string element_name(const StoredTensor& tensor);

/// The formats. `where` names the file in errors. `file_bytes`: how long the file is if `file` is
/// only its start; then the tensor has no bytes.
Result<StoredTensor> parse_npy(std::span<const std::byte> file, const std::string& where);
Result<StoredTensor> parse_npy(std::span<const std::byte> file, const std::string& where,
                               std::uint64_t file_bytes);
struct NpzTensors {
  std::vector<StoredTensor> tensors;
  std::vector<InflatedBytes> inflated;
};
Result<NpzTensors> parse_npz(std::span<const std::byte> file, const std::string& where,
                             const TensorsWanted& wanted);
Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> file,
                                                    const std::string& where);

/// A [rows, columns] view of tensor `index`, whose type is F32, F16 or Bf16 and whose element count
/// is rows * columns.
struct FileView {
  std::shared_ptr<const TensorFile> file;
  std::size_t index = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
std::unique_ptr<TensorSource> make_file_source(FileView view);

// Weights stored as one tensor per expert, as in checkpoints of mixture-of-experts models:
// "layers.0.experts.{}.up.weight" names all of their tensors.

/// Placeholder for the expert's number in the name of a list.
inline constexpr std::string_view kExpertPlace = "{}";

/// Experts 0..num_experts-1 stacked, [num_experts * n, k]. NotFound, or InvalidArgument
/// that names the first expert whose type or shape is not expert 0's or not the request's.
Result<std::unique_ptr<TensorSource>> open_listed_source(std::shared_ptr<const TensorFile> file,
                                                         const FileInput& input,
                                                         const ShapeSpec& shape);

/// The lists formed by a file's tensors: names that differ only in their last number, counting from
/// 0. Shape [experts, n, k]; a list whose tensors differ is not usable and says where.
std::vector<TensorEntry> tensor_lists(const TensorFile& file);

}  // namespace engine
