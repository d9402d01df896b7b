#include "app/protocol/shipped_recordings.h"

#include "app/protocol/paths.h"

namespace app {

std::string shipped_path(std::string_view file) {
  return assets_folder() + "/sessions/" + std::string(file);
}

std::string ShippedRecording::path() const { return shipped_path(file); }

}  // namespace app
