// Which libraries a program has loaded, and in which version.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/model/path_text.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace profiling {
namespace {

using Named = std::pair<std::string_view, std::string_view>;
/// Beginnings of file names. cuDNN's parts, libcudnn_ops.so for example, say nothing of their own.
constexpr std::array<Named, 3> kByFile = {
    {{"libcublasLt.so", kCublasLt}, {"libnccl.so", "NCCL"}, {"libcudnn.so", "cuDNN"}}};
/// Folders with another one below whose name is the version: where FlashInfer keeps what it has
/// compiled.
constexpr std::array<Named, 1> kByFolder = {{{"/flashinfer/", "FlashInfer"}}};

/// "2.27.5" of "libnccl.so.2.27.5"; a single number is the interface's.
std::string_view version_in_name(std::string_view file) {
  const std::size_t end = file.find(".so.");
  if (end == std::string_view::npos) return {};
  const std::string_view version = file.substr(end + 4);
  return is_version(version) && version.find('.') != std::string_view::npos ? version
                                                                            : std::string_view();
}

}  // namespace

std::optional<LoadedLibrary> known_library(const ObservedLibrary& library) {
  const std::string_view path = library.path;
  const std::string_view file = engine::file_name(path);
  for (const auto& [beginning, name] : kByFile) {
    if (!file.starts_with(beginning)) continue;
    const std::string_view version =
        library.version.empty() ? version_in_name(file) : std::string_view(library.version);
    if (version.empty()) return std::nullopt;
    return LoadedLibrary{.name = std::string(name), .version = std::string(version)};
  }
  for (const auto& [folder, name] : kByFolder) {
    for (std::size_t at = path.find(folder); at != std::string_view::npos;
         at = path.find(folder, at + 1)) {
      const std::string_view below = path.substr(at + folder.size());
      const std::size_t end = below.find('/');
      if (end == std::string_view::npos) break;
      // "0.6.18.post1" is a 0.6.18.
      const std::string_view version = below.substr(0, std::min(end, below.find(".post")));
      if (is_version(version) && version.find('.') != std::string_view::npos)
        return LoadedLibrary{.name = std::string(name), .version = std::string(version)};
    }
  }
  return std::nullopt;
}

}  // namespace profiling
