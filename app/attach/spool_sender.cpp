#include "app/attach/spool_sender.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "profiling/attach/spool/frames.h"

namespace app {
namespace {

namespace fs = std::filesystem;
namespace format = profiling::spool;

constexpr std::size_t kHeader = sizeof(format::FileHeader);
constexpr std::size_t kBlock = 1024;  // of the header: counters that change lie close together
constexpr std::size_t kPiece = kMaxAttachBody / 2;

/// Less than `bytes` only where the file ends.
std::string read_piece(int file, std::uint64_t at, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t count = 0;
  while (count < bytes) {
    const ssize_t got =
        ::pread(file, text.data() + count, bytes - count, static_cast<off_t>(at + count));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    count += static_cast<std::size_t>(got);
  }
  text.resize(count);
  return text;
}

std::uint64_t end_in(const std::string& header) {
  std::uint64_t end = 0;
  std::memcpy(&end, header.data() + offsetof(format::FileHeader, end), sizeof end);
  return end;
}

}  // namespace

bool SpoolSender::open(const std::string& name, Spool& spool) const {
  const std::string path = folder_ + '/' + name;
  engine::Result<profiling::SpoolReader> reader = profiling::SpoolReader::open(path);
  if (!reader.ok()) return false;  // its process may be about to write the header
  spool.file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!spool.file.valid()) return false;
  spool.reader = std::make_unique<profiling::SpoolReader>(std::move(reader).value());
  spool.whole = spool.sent = kHeader;
  return true;
}

void SpoolSender::send_header(const std::string& name, Spool& spool, const std::string& header,
                              const std::function<void(const SpoolPiece&)>& piece) const {
  std::size_t at = 0;
  while (at < header.size()) {
    const auto same = [&](std::size_t block) {
      return spool.header.size() == header.size() &&
             header.compare(block, kBlock, spool.header, block, kBlock) == 0;
    };
    std::size_t end = at;
    while (end < header.size() && !same(end)) end = std::min(end + kBlock, header.size());
    if (end > at) piece({.name = name, .at = at, .bytes = header.substr(at, end - at)});
    at = end + kBlock;  // which is the same, or behind the end
  }
  spool.header = header;
}

bool SpoolSender::send(bool ended, std::uint64_t most,
                       const std::function<void(const SpoolPiece&)>& piece) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".spool") spools_.try_emplace(entry.path().filename());
  }
  bool all = true;
  for (auto& [name, spool] : spools_) {
    if (spool.reader == nullptr && !open(name, spool)) continue;
    // Before the frames: the launches that it counts are of graphs that it will have.
    std::string header = read_piece(spool.file.get(), 0, kHeader);
    if (header.size() < kHeader) continue;
    const std::uint64_t reserved = end_in(header);
    // An error leaves what there is so far.
    (void)spool.reader
        ->follow(profiling::SpoolReader::Until::Incomplete,
                 [&](const profiling::SpoolFrame& frame) {
                   spool.whole =
                       frame.position + sizeof(format::FrameHeader) + frame.payload.size();
                 })
        .ok();
    const auto promise = [&](std::uint64_t end) {
      std::memcpy(header.data() + offsetof(format::FileHeader, end), &end, sizeof end);
      send_header(name, spool, header, piece);
    };
    if (spool.header.empty()) promise(kHeader);
    const std::uint64_t end = ended ? std::max(spool.whole, reserved) : spool.whole;
    const std::uint64_t until = std::min(end, spool.sent + most);
    while (spool.sent < until) {
      const std::string bytes =
          read_piece(spool.file.get(), spool.sent,
                     static_cast<std::size_t>(std::min<std::uint64_t>(until - spool.sent, kPiece)));
      if (bytes.empty()) break;  // the header promised more than a full disk had room for
      piece({.name = name, .at = spool.sent, .bytes = bytes});
      spool.sent += bytes.size();
    }
    const bool more = spool.sent == until && until < end;
    all = all && !more;
    promise(ended && !more ? reserved : spool.sent);
  }
  return all;
}

}  // namespace app
