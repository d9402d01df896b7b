#include "app/protocol/paths.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/gemm/library_file.h"

namespace app {
namespace fs = std::filesystem;

std::string executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : self.parent_path().string();
}

std::string worker_program() { return executable_folder() + "/expertscope-worker"; }

std::string guard_program() { return executable_folder() + "/expertscope-guard"; }

std::string askpass_program() { return executable_folder() + "/expertscope-askpass"; }

std::string user_cache_folder() { return engine::cublaslt_places().cache_folder; }

std::string assets_folder() {
  if (const char* chosen = std::getenv("EXPERTSCOPE_ASSETS"); chosen != nullptr && *chosen != '\0')
    return chosen;
  const fs::path here = executable_folder();
  const fs::path installed = (here / "../share/expertscope").lexically_normal();
  std::error_code error;
  if (fs::is_directory(installed, error)) return installed.string();
  return (here / "../../assets").lexically_normal().string();
}

}  // namespace app
