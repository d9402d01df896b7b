#include "app/doctor/core_dump_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include "app/doctor/core_dump_text.h"

namespace app {

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
