#include "profiling/hazards/proofs/moved_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "engine/device/allocation_ledger.h"
#include "engine/device/check.h"
#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/input_moves.h"

namespace profiling {
namespace {

using engine::Allocation;
using engine::AllocationRole;
using engine::Error;
using engine::ErrorCode;
using engine::MemorySpace;
using engine::Result;
using engine::Status;

constexpr int kPoisonedValues = 0xFF;  // NaN in every format of values
constexpr int kPoisonedSplits = 0;     // no rows: wrong, and reads nothing out of bounds
constexpr std::size_t kSearchedBytes = std::size_t{1} << 20;  // of one allocation
constexpr std::size_t kNamedHolders = 4;

/// Whether two descriptors with different addresses differ in exactly one word, the address. The
/// format is undocumented, so this tests the loaded driver.
bool descriptors_are_plain(const engine::DriverApi& driver, std::uint64_t address) {
  constexpr std::uint64_t kStep = 4096;
  const auto encode = [&](std::uint64_t at, CUtensorMap& map) {
    const cuuint64_t sizes[] = {64, 64};
    const cuuint64_t strides[] = {128};
    const cuuint32_t box[] = {64, 8};
    const cuuint32_t element_strides[] = {1, 1};
    return driver.tensor_map_encode_tiled(
               &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, reinterpret_cast<void*>(at), sizes,
               strides, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  };
  CUtensorMap here{};
  CUtensorMap there{};
  if (!encode(address, here) || !encode(address + kStep, there)) return false;
  int different = 0;
  for (std::size_t i = 0; i < std::size(here.opaque); ++i) {
    if (here.opaque[i] == there.opaque[i]) continue;
    ++different;
    if (here.opaque[i] != address || there.opaque[i] != address + kStep) return false;
  }
  return different == 1;
}

Status copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  return engine::check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
                            "Copying inputs that move");
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Result<MovedInputs> MovedInputs::create(const engine::DriverApi& driver,
                                        std::span<const CapturedGraph> graphs, bool patch_host) {
  MovedInputs made;
  made.patch_host_ = patch_host;
  const std::vector<Allocation> ledger = engine::AllocationLedger::of_process().read();
  ENGINE_TRY(made.take(ledger));
  const bool plain = descriptors_are_plain(driver, made.inputs_.front().address);
  for (const CapturedGraph& graph : graphs) {
    const std::string why = immovable_inputs_reason(graph.read.snapshot, made.inputs_, plain);
    if (!why.empty()) {
      return Error{ErrorCode::Unsupported, "the inputs could not be moved: " + why};
    }
    ENGINE_TRY(made.patch_graph(driver, graph));
    for (const SnapshotNode& node : graph.read.snapshot.nodes) {
      const auto* copied = std::get_if<MemcpyNode>(&node.parameters);
      if (copied == nullptr) continue;
      // Unlisted memory may be gone: it is neither read nor written here.
      const bool listed = std::ranges::any_of(ledger, [&](const Allocation& allocation) {
        return allocation.live() && allocation.space == MemorySpace::PinnedHost &&
               allocation.holds(copied->source) &&
               copied->source - allocation.address + copied->bytes <= allocation.bytes;
      });
      if (listed) {
        made.host_.emplace_back(static_cast<std::byte*>(pointer(copied->source)), copied->bytes);
      }
    }
  }
  return made;
}

Status MovedInputs::take(const std::vector<Allocation>& ledger) {
  for (const Allocation& allocation : ledger) {
    if (!is_input(allocation)) continue;
    Result<engine::DeviceBuffer> fresh = copy_elsewhere(allocation);
    if (!fresh.ok()) {
      return Error{ErrorCode::Unsupported, fmt::format("no second copy of \"{}\": {}",
                                                       allocation.owner, fresh.error().message)};
    }
    ranges_.push_back({.address = allocation.address,
                       .bytes = allocation.bytes,
                       .target = reinterpret_cast<std::uint64_t>(fresh.value().data())});
    elsewhere_.push_back(std::move(fresh).value());
    inputs_.push_back(allocation);
  }
  if (!inputs_.empty()) return {};
  return Error{ErrorCode::Unsupported, "the ledger has no input that could be moved"};
}

Status MovedInputs::patch_graph(const engine::DriverApi& driver, const CapturedGraph& graph) {
  for (int node = 0; node < static_cast<int>(graph.read.handles.size()); ++node) {
    std::vector<Relocation> ranges = ranges_;
    // Memory that the experiment moves for this node alone stays moved.
    if (const auto own = graph.relocations.find(node); own != graph.relocations.end()) {
      ranges.insert(ranges.begin(), own->second.begin(), own->second.end());
    }
    const Result<bool> patched =
        relocate_node(driver, graph.executable.get(), graph.read, node, ranges);
    if (patched.ok()) continue;
    return Error{ErrorCode::Unsupported, fmt::format("the inputs of node {} could not be moved: {}",
                                                     node, patched.error().message)};
  }
  return {};
}

Status MovedInputs::patch_arrays(cudaStream_t stream) {
  std::vector<std::byte> bytes;
  for (const Allocation& allocation : engine::AllocationLedger::of_process().read()) {
    const bool array = allocation.live() && allocation.space == MemorySpace::Device &&
                       allocation.role == AllocationRole::PointerArray;
    if (!array) continue;
    bytes.resize(allocation.bytes);
    ENGINE_TRY(copy(bytes.data(), pointer(allocation.address), bytes.size(), stream));
    ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Reading an array of addresses");
    if (!relocate_words(bytes, ranges_)) continue;
    ENGINE_TRY(copy(pointer(allocation.address), bytes.data(), bytes.size(), stream));
    ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Writing an array of addresses");
  }
  if (!patch_host_) return {};
  for (const auto& [begin, size] : host_) relocate_words({begin, size}, ranges_);
  return {};
}

Status MovedInputs::before_replay(cudaStream_t stream) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Allocation& input = inputs_[i];
    ENGINE_TRY(copy(elsewhere_[i].data(), pointer(input.address), input.bytes, stream));
    const int poison = input.role == AllocationRole::Splits ? kPoisonedSplits : kPoisonedValues;
    ENGINE_CUDA_TRY(cudaMemsetAsync(pointer(input.address), poison, input.bytes, stream),
                    "Poisoning the old memory of an input");
  }
  return patch_arrays(stream);
}

Status MovedInputs::after_replay(cudaStream_t stream) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    ENGINE_TRY(copy(pointer(inputs_[i].address), elsewhere_[i].data(), inputs_[i].bytes, stream));
  }
  return {};
}

Result<std::string> MovedInputs::still_held(cudaStream_t stream) const {
  std::vector<std::string> holders;
  const auto search = [&](std::span<const std::byte> bytes, const std::string& owner) {
    any_word(bytes, [&](std::uint64_t at, std::uint64_t word) {
      const auto input =
          std::ranges::find_if(inputs_, [word](const Allocation& one) { return one.holds(word); });
      if (input == inputs_.end()) return false;
      holders.push_back(fmt::format("\"{}\" of \"{}\" (byte {})", input->owner, owner, at));
      return true;
    });
  };
  std::vector<std::byte> bytes;
  for (const Allocation& allocation : engine::AllocationLedger::of_process().read()) {
    const bool addresses = allocation.role == AllocationRole::PointerArray ||
                           allocation.role == AllocationRole::Workspace;
    if (!addresses || !allocation.live() || allocation.space != MemorySpace::Device) continue;
    bytes.resize(std::min<std::size_t>(allocation.bytes, kSearchedBytes));
    ENGINE_TRY(copy(bytes.data(), pointer(allocation.address), bytes.size(), stream));
    ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Searching for old addresses");
    search(bytes, allocation.owner);
  }
  for (const auto& [begin, size] : host_) search({begin, size}, "host memory that a copy reads");
  if (holders.empty()) return std::string();
  holders.resize(std::min(holders.size(), kNamedHolders));
  return fmt::format("old addresses of inputs are still in memory: {}", fmt::join(holders, ", "));
}

}  // namespace profiling
