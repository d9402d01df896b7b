// Operands on the device, in BF16 or FP16, kept between runs: a run that changes only the recipe or
// the routing uploads nothing, so that Live mode is fast.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "engine/input/tensor_source.h"
#include "engine/model/error.h"
#include "engine/model/projections.h"
#include "engine/model/run_request.h"
#include "engine/observe/step_observer.h"

namespace engine {

inline constexpr int kAllExperts = -1;

/// Everything that an operand's values depend on. A rewritten file is a different operand.
struct DeviceOperandKey {
  InputSpec input;
  OperandRole role = OperandRole::Activations;
  int layer = 0;  // 0 for files: every layer reads the same tensor
  int expert = kAllExperts;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::Bf16;  // as the step reads it
  std::uint64_t seed = 0;
  FileStamp file = {};
  bool operator==(const DeviceOperandKey&) const = default;

  std::int64_t bytes() const { return 2 * rows * columns; }
};

/// `expert`: of weights, the tensor [n, k] of one expert alone.
DeviceOperandKey device_operand_key(const RunRequest& request, OperandRole role, int layer,
                                    int expert = kAllExperts);
/// The keys of everything that a linear step of this request reads from outside.
std::vector<DeviceOperandKey> device_operand_keys(const RunRequest& request,
                                                  const MadeOperands& made = {});

class DeviceOperands {
 public:
  struct Operand {
    DeviceOperandKey key;
    DeviceBuffer values;                      // [rows, columns] of key.type
    ElementType element = ElementType::Bf16;  // of the source, before rounding
  };

  /// Frees operands that are not in `keys`; returns the number of bytes still to be uploaded.
  std::int64_t keep_only(const std::vector<DeviceOperandKey>& keys);

  /// The operand, uploaded if it is not here yet. Valid until the next keep_only(). Cancelled when
  /// progress.cancel was seen.
  Result<const Operand*> get(const RunRequest& request, const DeviceOperandKey& key,
                             cudaStream_t stream, const RunProgress& progress);

 private:
  Status upload(const TensorSource& source, Operand& operand, cudaStream_t stream,
                const RunProgress& progress);

  std::vector<std::unique_ptr<Operand>> operands_;
  PinnedBuffer staging_[2];
  Event copied_[2];
};

}  // namespace engine
