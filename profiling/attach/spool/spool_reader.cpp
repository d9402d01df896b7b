#include "profiling/attach/spool/spool_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace profiling {
namespace {

constexpr std::size_t kWindow = std::size_t{4} << 20;

/// How many bytes came, up to `bytes`.
std::size_t read_at(int file, std::uint64_t at, std::byte* into, std::size_t bytes) {
  std::size_t count = 0;
  while (count < bytes) {
    const ssize_t got = ::pread(file, into + count, bytes - count, static_cast<off_t>(at + count));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    count += static_cast<std::size_t>(got);
  }
  return count;
}

bool plausible(const spool::FrameHeader& header) {
  return header.magic == spool::kFrameMagic && header.bytes >= sizeof header &&
         header.bytes % 8 == 0 && header.bytes <= spool::kMaxFrame;
}

}  // namespace

std::span<const std::byte> SpoolFrame::after(std::size_t structure, std::size_t offset,
                                             std::size_t count) const {
  if (structure > payload.size() || offset > payload.size() - structure) return {};
  const std::span<const std::byte> rest = payload.subspan(structure + offset);
  return count > rest.size() ? std::span<const std::byte>() : rest.first(count);
}

std::string_view SpoolFrame::text_after(std::size_t structure, std::size_t offset,
                                        std::size_t count) const {
  const std::span<const std::byte> bytes = after(structure, offset, count);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

engine::Result<SpoolReader> SpoolReader::open(const std::string& path) {
  ENGINE_ASSIGN(engine::RegularFile file, engine::RegularFile::open(path));
  SpoolReader reader(std::move(file));
  if (engine::Status read = reader.read_header(); !read.ok()) {
    return engine::Error{read.error().code, fmt::format("{} {}", path, read.error().message)};
  }
  return reader;
}

engine::Status SpoolReader::read_header() {
  // Its atomics are plain numbers in the file.
  std::vector<std::byte> bytes(sizeof(spool::FileHeader));
  if (read_at(file_.descriptor(), 0, bytes.data(), bytes.size()) < bytes.size()) {
    return engine::Error{engine::ErrorCode::Io,
                         "is too short for the record of an attached process"};
  }
  const auto number = [&]<class T>(std::size_t offset, T) {
    T value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  constexpr std::uint32_t k32 = 0;
  constexpr std::uint64_t k64 = 0;
  if (number(offsetof(spool::FileHeader, magic), k64) != spool::kFileMagic) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         "is not the record of an attached process"};
  }
  if (const std::uint32_t version = number(offsetof(spool::FileHeader, version), k32);
      version != spool::kVersion) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         fmt::format("has version {} of the format; this program reads version {}",
                                     version, spool::kVersion)};
  }
  if (number(offsetof(spool::FileHeader, header_bytes), k32) != sizeof(spool::FileHeader)) {
    return engine::Error{engine::ErrorCode::InvalidArgument, "has a damaged header"};
  }
  end_ = number(offsetof(spool::FileHeader, end), k64);
  state_ = {.process = number(offsetof(spool::FileHeader, process), k32),
            .parent = number(offsetof(spool::FileHeader, parent), k32),
            .started = number(offsetof(spool::FileHeader, started), k64),
            .lost_frames = number(offsetof(spool::FileHeader, lost_frames), k64),
            .ended = number(offsetof(spool::FileHeader, ended), k32) != 0,
            .graphs = {},
            .waits = {},
            .longest_wait = number(offsetof(spool::FileHeader, longest_wait), k64)};
  for (std::size_t slot = 0; slot < spool::kLiveGraphs; ++slot) {
    const std::size_t at = offsetof(spool::FileHeader, graphs) + slot * sizeof(spool::GraphCounter);
    const GraphLaunches counted{
        .exec = number(at + offsetof(spool::GraphCounter, exec), k64),
        .graph = number(at + offsetof(spool::GraphCounter, graph), k64),
        .launches = number(at + offsetof(spool::GraphCounter, launches), k64),
        .last_launch = number(at + offsetof(spool::GraphCounter, last_launch), k64),
        .last_stream = number(at + offsetof(spool::GraphCounter, last_stream), k64)};
    if (counted.exec != 0 && counted.graph != 0) state_.graphs.push_back(counted);
  }
  for (std::size_t slot = 0; slot < spool::kWaits; ++slot) {
    const std::size_t at = offsetof(spool::FileHeader, waits) + slot * sizeof(spool::Wait);
    const OpenWait wait{
        .thread = number(at + offsetof(spool::Wait, thread), k32),
        .call = static_cast<spool::WaitCall>(number(at + offsetof(spool::Wait, call), k32)),
        .since = number(at + offsetof(spool::Wait, since), k64),
        .stream = number(at + offsetof(spool::Wait, stream), k64)};
    const bool known = wait.call <= spool::kLastWaitCall;
    if (wait.thread != 0 && wait.since != 0 && known) state_.waits.push_back(wait);
  }
  return {};
}

bool SpoolReader::fill(std::uint64_t at, std::size_t bytes) {
  if (at >= window_at_ && at - window_at_ + bytes <= window_.size()) return true;
  window_.resize(std::max(kWindow, bytes));
  window_at_ = at;
  window_.resize(read_at(file_.descriptor(), at, window_.data(), window_.size()));
  return window_.size() >= bytes;
}

engine::Status SpoolReader::follow(Until until,
                                   const std::function<void(const SpoolFrame&)>& found) {
  ENGINE_TRY(read_header());
  window_.clear();  // what was incomplete may be complete now
  window_at_ = 0;
  const auto header_at = [&](std::uint64_t at, spool::FrameHeader& header) {
    if (!fill(at, sizeof header)) return false;
    std::memcpy(static_cast<void*>(&header), window_.data() + (at - window_at_), sizeof header);
    return true;
  };
  while (position_ + sizeof(spool::FrameHeader) <= end_) {
    spool::FrameHeader header{};
    if (!header_at(position_, header)) break;
    const bool whole =
        plausible(header) && position_ + header.bytes <= end_ && fill(position_, header.bytes);
    if (whole) {
      const std::span<const std::byte> payload(
          window_.data() + (position_ - window_at_) + sizeof header, header.bytes - sizeof header);
      if (header.check.load(std::memory_order_relaxed) ==
          spool::check_of(header.kind, payload.data(), payload.size())) {
        found({.kind = header.kind,
               .thread = header.thread,
               .time = header.time,
               .position = position_,
               .payload = payload});
        position_ += header.bytes;
        continue;
      }
    }
    if (until == Until::Incomplete) break;
    ++damaged_;
    // A frame of known length is skipped; without it, the next beginning is searched for.
    position_ += whole ? header.bytes : 8;
    while (!whole && position_ + sizeof header <= end_ && header_at(position_, header) &&
           !plausible(header)) {
      position_ += 8;
    }
  }
  return {};
}

}  // namespace profiling
