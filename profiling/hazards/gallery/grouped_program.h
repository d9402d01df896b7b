// The common base of the gallery's programs: one small layer with experts, its inputs, and the
// checks of its outputs. Shapes: kGroups experts, kRows rows of kColumns BF16 values in total.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/model/stage.h"
#include "kernels/hazards/grouped_scale.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

class GroupedProgram : public Subject {
 public:
  std::string title() const override;
  std::vector<SubjectOutput> outputs() const override;
  /// Unsupported if `changed`; programs whose inputs can change override it.
  engine::Status set_inputs(bool changed, cudaStream_t stream) override;
  engine::Status reset(cudaStream_t stream) override;
  engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) override;

  /// Before anything else; programs with their own memory call it first.
  virtual engine::Status set_up(cudaStream_t stream);

 protected:
  static constexpr int kGroups = 8;
  static constexpr std::int64_t kRows = 1024;
  static constexpr int kColumns = 128;
  static constexpr std::int64_t kActivationBytes = kRows * kColumns * std::int64_t{2};
  static constexpr int kTiles = kRows / kernels::kHazardRowsPerTile;
  using Splits = std::array<std::int64_t, kGroups>;

  GroupedProgram(std::string case_id, bool healthy)
      : case_id_(std::move(case_id)), healthy_(healthy) {}
  bool healthy() const { return healthy_; }

  /// Rows per expert; the changed ones have a larger largest expert and an empty one.
  static Splits splits(bool changed);
  engine::Status write_splits(const Splits& splits, cudaStream_t stream);

  /// y = x * weights * 1 over every possible row; x and y are [kRows, kColumns].
  kernels::GroupedScaleArgs scale(const void* x, void* y) const;
  void* x() const { return x_.data(); }
  void* y() const { return y_.data(); }

  /// An output in addition to Y, [kRows, kColumns], which reset() fills with `fill`. Checked per
  /// expert, or as a whole.
  void check(const std::string& name, void* values, bool whole = false, int fill = 0xFF);
  /// The output of that name is in different memory from now on.
  void move_output(const std::string& name, void* values);

  static engine::Result<engine::DeviceBuffer> activation(engine::AllocationRole role,
                                                         const std::string& owner);
  static engine::Result<bool> is_capturing(cudaStream_t stream);

  /// Labels the work that `launch`, which returns a cudaError_t, enqueues on the stream.
  template <class Launch>
  static engine::Status work(engine::StepObserver& observer, engine::Stage stage, Launch&& launch) {
    observer.begin_work({.stage = stage});
    const cudaError_t error = launch();
    observer.end_work();
    return engine::check_cuda(error, "Launching a kernel of the gallery");
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

// One function per case; the program is in the file of the same name. set_up() has not been called.

std::unique_ptr<GroupedProgram> make_flag_not_reset(bool healthy);
std::unique_ptr<GroupedProgram> make_workspace_freed(bool healthy);
std::unique_ptr<GroupedProgram> make_workspace_regrown(bool healthy);
std::unique_ptr<GroupedProgram> make_pool_alias(bool healthy);
std::unique_ptr<GroupedProgram> make_allocation_without_free(bool healthy);
std::unique_ptr<GroupedProgram> make_host_pointer_array(bool healthy);
std::unique_ptr<GroupedProgram> make_host_source_reused(bool healthy);
std::unique_ptr<GroupedProgram> make_scalar_baked(bool healthy);
std::unique_ptr<GroupedProgram> make_splits_baked(bool healthy);
std::unique_ptr<GroupedProgram> make_programmatic_without_wait(bool healthy);
std::unique_ptr<GroupedProgram> make_unordered_siblings(bool healthy);
std::unique_ptr<GroupedProgram> make_missing_join(bool healthy);
std::unique_ptr<GroupedProgram> make_lazy_load_in_capture(bool healthy);
std::unique_ptr<GroupedProgram> make_sync_in_capture(bool healthy);

}  // namespace profiling
