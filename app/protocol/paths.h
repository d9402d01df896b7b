// The version of this program, and where its neighbours and assets are: found from the running
// executable, never from the current folder.
#pragma once

#include <string>

namespace app {

inline constexpr const char* kProgramVersion = EXPERTSCOPE_VERSION;

/// Folder of the running executable, without a trailing slash.
std::string executable_folder();
/// expertscope-worker next to the running executable (whether or not it exists).
std::string worker_program();
/// expertscope-guard next to the running executable.
std::string guard_program();
/// expertscope-askpass next to the running executable.
std::string askpass_program();
/// $XDG_CACHE_HOME/expertscope or ~/.cache/expertscope; empty without a home folder.
std::string user_cache_folder();
/// $EXPERTSCOPE_ASSETS, else <exe>/../share/expertscope (installed), else <exe>/../../assets (build
/// tree). The first that exists; the last if none does, so that errors name a path.
std::string assets_folder();

}  // namespace app
