// What an agent on another machine says: messages, and the pieces of spools in them, which are
// written here. Whatever arrives, only files with a spool's name grow, and only up to their limit.
#include <filesystem>

#include "app/attach/attach_stream.h"
#include "app/attach/spool_mirror.h"
#include "profiling/attach/spool/frames.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kHeaderBytes = sizeof(profiling::spool::FileHeader);

std::string piece(const std::string& name, std::uint64_t at, const std::string& bytes) {
  return encode(app::AttachKind::Spool,
                app::encode(app::SpoolPiece{.name = name, .at = at, .bytes = bytes}));
}

void say_again(const app::AttachMessage& message) {
  app::AttachDecoder decoder;
  decoder.append(app::encode(message.kind, message.body));
  const auto heard = decoder.next();
  require(heard.ok() && heard.value() && heard.value()->kind == message.kind &&
              heard.value()->body == message.body,
          "what was heard can be said again");
}

void check_folder(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    require(entry.is_regular_file() && entry.path().parent_path() == folder &&
                entry.path().extension() == ".spool",
            "only spools are written", entry.path().string());
    require(entry.file_size() <= kMostBytes, "they have a limit", entry.path().string());
  }
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string all = app::encode(app::AttachKind::Started, "12 /folder") +
                          app::encode(app::AttachKind::Output, "a line\n") +
                          piece("12-34.spool", 0, std::string(kHeaderBytes, 'h')) +
                          piece("12-34.spool", kHeaderBytes, "frame") +
                          piece("12-34.spool", 8, "H") +
                          app::encode(app::AttachKind::Clock, app::bytes_of(1)) +
                          app::encode(app::AttachKind::Ended, "ended with exit code 0");
  return {all, piece("../1.spool", 0, "x"), app::encode(app::AttachKind::Refused, "why")};
}

std::vector<std::string> dictionary() {
  return {"XSA1",
          ".spool",
          "../",
          std::string(1, '\0'),
          std::string("\x05\0\0\0", 4),
          std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8)};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::CostLimit limit(size, std::size_t{64} << 20);
  const std::filesystem::path folder = fuzz::scratch_folder() + "/spools";
  std::filesystem::create_directory(folder);
  app::SpoolMirror mirror(folder.string(), fuzz::kMostBytes);
  app::AttachDecoder decoder;
  decoder.append({reinterpret_cast<const char*>(bytes), size});
  while (true) {
    const auto message = decoder.next();
    if (!fuzz::accepted(message) || !message.value()) break;
    fuzz::say_again(*message.value());
    (void)app::number_in(message.value()->body);
    if (const auto piece = app::spool_piece(message.value()->body)) {
      (void)fuzz::accepted(mirror.take(*piece));
    }
  }
  fuzz::check_folder(folder);
  std::filesystem::remove_all(folder);
  return 0;
}
