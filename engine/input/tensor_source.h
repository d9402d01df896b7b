// Where operand values come from: seeded generators and tensor files, one interface for both.
// Random access by row range, so that no backend needs the whole operand in host memory at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// A 2D view [rows, columns] of values, row-major. Thread-safe for concurrent reads.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual ElementType element() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  /// Copies rows [first, first + count) as FP32 (exact for every element type) into out[count *
  /// columns].
  virtual void read_f32(std::int64_t first_row, std::int64_t count, std::span<float> out) const = 0;
  /// The same rows rounded to BF16 (round to nearest even; exact if the element type is BF16), as
  /// bits.
  virtual void read_bf16(std::int64_t first_row, std::int64_t count,
                         std::span<std::uint16_t> out) const = 0;
  /// The same rows rounded to FP16, as bits.
  void read_fp16(std::int64_t first_row, std::int64_t count, std::span<std::uint16_t> out) const;
};

/// The part of a request that specifies one operand's values.
const InputSpec& input_of(const RunRequest& request, OperandRole role);

/// What tells a rewritten file from the one that was read; zeros if the values come from no file.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t time = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp file_stamp(const InputSpec& input);

/// Opens or builds the source of one operand and checks its size: activations [tokens, k],
/// gradients [tokens, n] (of an expert layer [tokens, k]), weights of one layer [num_experts * n,
/// k] (a file may also hold [num_experts, n, k], or one tensor [n, k] per expert, named with {} for
/// its number; all layers then read the same file). Synthetic values depend only on (seed, role,
/// layer, row, column), never on how they are read.
Result<std::unique_ptr<TensorSource>> open_source(const RunRequest& request, OperandRole role,
                                                  int layer);

/// One tensor of a file, for selection by the user.
struct TensorEntry {
  std::string name;   // empty for .npy
  std::string dtype;  // "BF16", "F32", ...; of a type that cannot be used what the file says
  std::vector<std::int64_t> shape;
  bool usable = false;
  std::string reason;     // why not usable
  bool integers = false;  // not an operand, but perhaps a routing file
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&TensorEntry::name, &TensorEntry::dtype, &TensorEntry::shape,
                          &TensorEntry::usable, &TensorEntry::reason, &TensorEntry::integers>();
  }
};

/// Header only: no tensor data is read. .npy, .npz and .safetensors. Lists of numbered tensors (see
/// tensor_lists()) come last, with {} in their names.
Result<std::vector<TensorEntry>> inspect_file(const std::string& path);

}  // namespace engine
