// cuda-gdb is asked for one thing: where the kernel was.
#include "app/doctor/core_dump.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "app/doctor/child_lines.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReadLimit{30};

/// The innermost frame, "#0 spin<<<(1,1,1),(32,1,1)>>> () at spin.cu:12", or a sentence saying why
/// there is none: no cuda-gdb on PATH, or no answer within half a minute.
std::string core_dump_place(const std::string& path) {
  const Clock::time_point until = Clock::now() + kReadLimit;
  std::string place = "read it with cuda-gdb, which is not on PATH here or did not answer";
  const auto take = [&](const std::string& line) {
    if (line.starts_with("#0")) place = line;
  };
  const auto ended = run_for_lines(
      {"/usr/bin/env", "cuda-gdb", "--batch", "-nx", "-ex", "target cudacore " + path},
      ChildStream::Output, take, [&] { return Clock::now() > until; });
  return ended.ok() ? place : "it cannot be read: " + ended.error().message;
}

}  // namespace

CoreDumpRequest::~CoreDumpRequest() {
  if (!name_.empty()) ::unlink((name_ + ".pipe").c_str());
}

std::vector<std::string> CoreDumpRequest::environment() const {
  if (name_.empty()) return {};
  return {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1", "CUDA_COREDUMP_FILE=" + file(),
          "CUDA_COREDUMP_PIPE=" + name_ + ".pipe",
          "CUDA_COREDUMP_GENERATION_FLAGS=skip_nonrelocated_elf_images,skip_global_memory,"
          "skip_shared_memory,skip_local_memory,skip_constbank_memory,skip_abort"};
}

void CoreDumpRequest::read(profiling::Stall& stall) const {
  if (name_.empty() || stall.core_dump != file()) return;
  stall.evidence +=
      fmt::format("; core dump {}: {}", stall.core_dump, core_dump_place(stall.core_dump));
}

}  // namespace app
