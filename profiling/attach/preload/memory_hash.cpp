#include "profiling/attach/preload/memory_hash.h"

#include "profiling/attach/preload/entry_points.h"

// The PTX of memory_hash.cu, with a zero behind it as the driver wants text to end.
asm(R"(
  .section .rodata
  .balign 16
expertscope_hash_image:
  .incbin ")" EXPERTSCOPE_HASH_PTX R"("
  .byte 0
  .previous
)");

extern "C" const char expertscope_hash_image[];

namespace attach {
namespace {

Refusal refusal(CUresult result, const char* call) { return {.result = result, .call = call}; }

}  // namespace

Refusal MemoryHash::prepare() {
  if (kernel_ != nullptr) return {};
  CUmodule module = nullptr;
  CUresult result = real<&cuModuleLoadData>(&module, expertscope_hash_image);
  if (result != CUDA_SUCCESS) return refusal(result, "cuModuleLoadData");
  const auto get_function =
      reinterpret_cast<decltype(&::cuModuleGetFunction)>(driver_symbol("cuModuleGetFunction"));
  if (get_function == nullptr) return refusal(CUDA_ERROR_NOT_FOUND, "cuModuleGetFunction");
  void* pieces = nullptr;
  void* hashes = nullptr;
  result = real<&cuMemAllocHost_v2>(&pieces, kMostPieces * sizeof(Piece));
  if (result == CUDA_SUCCESS)
    result = real<&cuMemAllocHost_v2>(&hashes, kMostPieces * sizeof(std::uint64_t));
  if (result != CUDA_SUCCESS) return refusal(result, "cuMemAllocHost");
  pieces_ = static_cast<Piece*>(pieces);
  hashes_ = static_cast<std::uint64_t*>(hashes);
  return refusal(get_function(&kernel_, module, "expertscope_hash_memory"), "cuModuleGetFunction");
}

Refusal MemoryHash::launch(std::size_t count, OnStream on) {
  if (count == 0) return {};
  constexpr unsigned kThreads = 256;
  void* arguments[] = {&pieces_, &hashes_};
  const auto blocks = static_cast<unsigned>(count);
  const CUresult result = on.per_thread
                              ? real<&cuLaunchKernel_ptsz>(kernel_, blocks, 1U, 1U, kThreads, 1U,
                                                           1U, 0U, on.stream, arguments, nullptr)
                              : real<&cuLaunchKernel>(kernel_, blocks, 1U, 1U, kThreads, 1U, 1U, 0U,
                                                      on.stream, arguments, nullptr);
  return refusal(result, "cuLaunchKernel");
}

}  // namespace attach
