#include "app/attach/kept_hang.h"

#include <cstddef>
#include <filesystem>

#include "engine/input/regular_file.h"
#include "engine/input/value_json.h"
#include "profiling/export/replaced_file.h"

namespace app {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;

std::string path_beside(const std::string& spool) {
  return std::filesystem::path(spool).replace_extension(".hang").string();
}

}  // namespace

void keep_hang(const std::string& spool, const KeptHang& hang) {
  engine::Result<profiling::ReplacedFile> file =
      profiling::ReplacedFile::create(path_beside(spool), profiling::ReplacedFile::kPrivateMode);
  if (!file.ok()) return;
  file.value().write(engine::to_json_text(hang, true) + '\n');
  static_cast<void>(file.value().commit());
}

std::optional<KeptHang> kept_hang(const std::string& spool) {
  const engine::Result<std::string> text = engine::read_file(path_beside(spool), kMostBytes);
  KeptHang hang;
  if (!text.ok() || !engine::read_json(hang, text.value()).ok() || hang.found < hang.since)
    return std::nullopt;
  return hang;
}

}  // namespace app
