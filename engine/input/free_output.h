// Output must not overwrite or mix with what is there.
#pragma once

#include <string>

#include "engine/model/error.h"

namespace engine {

/// An error if something has this name already, or if nothing can have it.
Status require_new_file(const std::string& path);
/// An error if the folder exists and holds anything, or is no folder.
Status require_empty_folder(const std::string& path);

}  // namespace engine
