// The common base of the gallery's programs: one small layer with experts, its inputs, and the
// checks of its outputs. Shapes: kGroups experts, kRows rows of kColumns BF16 values in total.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/model/stage.h"
#include "kernels/common/types.h"
#include "kernels/hazards/grouped_scale.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

class GroupedProgram : public Subject {
 public:
  GroupedProgram(std::string_view case_id, bool healthy) : case_id_(case_id), healthy_(healthy) {}

  std::string title() const override;
  std::vector<SubjectOutput> outputs() const override;
  /// Unsupported if `changed`; programs whose inputs can change override it.
  engine::Status set_inputs(bool changed, cudaStream_t stream) override;
  engine::Status reset(cudaStream_t stream) override;
  engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) override;

  /// Before anything else.
  engine::Status set_up(cudaStream_t stream);

 protected:
  static constexpr int kGroups = 8;
  static constexpr std::int64_t kRows = 1024;
  static constexpr int kColumns = 128;
  static constexpr std::int64_t kActivationBytes = kRows * kColumns * std::int64_t{2};
  static constexpr int kTiles = kRows / kernels::kHazardRowsPerTile;
  using Splits = std::array<std::int64_t, kGroups>;

  /// The last part of set_up(): the program's own memory and streams.
  virtual engine::Status prepare(cudaStream_t /*stream*/) { return {}; }

  bool healthy() const { return healthy_; }

  /// Rows per expert; the changed ones have a larger largest expert and an empty one.
  static Splits splits(bool changed);
  engine::Status write_splits(const Splits& splits, cudaStream_t stream);

  /// y = x * weights * 1 over every possible row; x and y are [kRows, kColumns].
  kernels::GroupedScaleArgs scale(const void* x, void* y) const;
  /// Values for another X: this program's, scaled. Enqueues only.
  engine::Status make_other_values(const engine::DeviceBuffer& to, cudaStream_t stream) const;
  void* x() const { return x_.data(); }
  void* y() const { return y_.data(); }

  /// As many tiles as these rows of a group need.
  static int tiles_of(std::int64_t rows) {
    return static_cast<int>(kernels::ceil_div(rows, std::int64_t{kernels::kHazardRowsPerTile}));
  }

  /// Device or pinned memory.
  template <class Buffer>
  static engine::Status allocate(Buffer& buffer, std::int64_t bytes, engine::AllocationRole role,
                                 std::string owner) {
    ENGINE_ASSIGN(buffer, Buffer::allocate(bytes, {role, std::move(owner)}));
    return {};
  }
  /// Allocates an output in addition to Y, and checks it per expert.
  engine::Status add_output(engine::DeviceBuffer& buffer, const std::string& name);
  /// An output in memory of the program's, [kRows, kColumns], which reset() fills with `fill`.
  /// Checked per expert, or as a whole.
  void check(const std::string& name, void* values, bool whole = false, int fill = 0xFF);
  /// The output of that name is in different memory from now on.
  void move_output(const std::string& name, void* values);

  static engine::Result<bool> is_capturing(cudaStream_t stream);

  /// Labels the work that `launch`, which returns a cudaError_t, enqueues on the stream.
  template <class Launch>
  static engine::Status work(engine::StepObserver& observer, engine::Stage stage, Launch&& launch) {
    observer.begin_work({.stage = stage});
    const cudaError_t error = launch();
    observer.end_work();
    return engine::check_cuda(error, "Launching a kernel of the gallery");
  }
  /// The plain kernel as work of a stage.
  static engine::Status launch(const kernels::GroupedScaleArgs& args, engine::Stage stage,
                               cudaStream_t stream, engine::StepObserver& observer) {
    return work(observer, stage, [&] { return kernels::grouped_scale(args, stream); });
  }

 private:
  struct Checked {
    std::string name;
    void* values = nullptr;
    bool whole = false;
    int fill = 0xFF;  // 0xFFFF is a NaN of BF16
  };

  engine::Status write_values(cudaStream_t stream);

  std::string case_id_;
  bool healthy_;
  engine::DeviceBuffer x_;
  engine::DeviceBuffer y_;
  engine::DeviceBuffer weights_;
  engine::DeviceBuffer row_offsets_;    // [kGroups + 1]
  engine::DeviceBuffer whole_offsets_;  // [2]: all rows as one group
  engine::DeviceBuffer sums_;
  std::vector<Checked> checked_;
};

/// A program of the gallery by its id in the catalogue; set_up() has not been called.
struct GalleryProgram {
  std::string_view id;
  std::unique_ptr<GroupedProgram> (*make)(std::string_view id, bool healthy);
};

template <class Program>
std::unique_ptr<GroupedProgram> make_program(std::string_view id, bool healthy) {
  return std::make_unique<Program>(id, healthy);
}

// In memory_cases.cpp, baked_cases.cpp, order_cases.cpp, capture_cases.cpp, graphs_cases.cpp.

std::span<const GalleryProgram> memory_programs();
std::span<const GalleryProgram> baked_programs();
std::span<const GalleryProgram> order_programs();
std::span<const GalleryProgram> capture_programs();
std::span<const GalleryProgram> graphs_programs();

}  // namespace profiling
