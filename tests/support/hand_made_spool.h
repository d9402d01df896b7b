// Spools for tests, made by hand: frames in order, with right checks, behind a header.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/attach/spool/frames.h"

namespace profiling {

class HandMadeSpool {
 public:
  HandMadeSpool() : bytes_(sizeof(spool::FileHeader)) {
    set<std::uint64_t>(offsetof(spool::FileHeader, magic), spool::kFileMagic);
    set<std::uint32_t>(offsetof(spool::FileHeader, version), spool::kVersion);
    set<std::uint32_t>(offsetof(spool::FileHeader, header_bytes), sizeof(spool::FileHeader));
    set<std::uint32_t>(offsetof(spool::FileHeader, process), 1234);
    set<std::uint64_t>(offsetof(spool::FileHeader, end), bytes_.size());
  }

  /// Returns the frame's position, which is its time too. `rest` follows the payload.
  template <class Payload>
  std::uint64_t add(const Payload& payload, std::string_view rest = {},
                    std::uint32_t thread = 1234) {
    const std::size_t at = bytes_.size();
    std::vector<std::byte> content((sizeof payload + rest.size() + 7) / 8 * 8);
    std::memcpy(content.data(), &payload, sizeof payload);
    if (!rest.empty()) std::memcpy(content.data() + sizeof payload, rest.data(), rest.size());
    bytes_.resize(at + sizeof(spool::FrameHeader) + content.size());
    set<std::uint32_t>(at + offsetof(spool::FrameHeader, magic), spool::kFrameMagic);
    set<std::uint32_t>(at + offsetof(spool::FrameHeader, bytes),
                       static_cast<std::uint32_t>(bytes_.size() - at));
    set<spool::Kind>(at + offsetof(spool::FrameHeader, kind), Payload::kKind);
    set<std::uint32_t>(at + offsetof(spool::FrameHeader, thread), thread);
    set<std::uint64_t>(at + offsetof(spool::FrameHeader, time), at);
    set<std::uint64_t>(at + offsetof(spool::FrameHeader, check),
                       spool::check_of(Payload::kKind, content.data(), content.size()));
    std::memcpy(bytes_.data() + at + sizeof(spool::FrameHeader), content.data(), content.size());
    set<std::uint64_t>(offsetof(spool::FileHeader, end), bytes_.size());
    return at;
  }

  /// Counts of an executable graph, in the header.
  void count(std::size_t slot, std::uint64_t exec, std::uint64_t graph, std::uint64_t launches,
             std::uint64_t last_launch) {
    const std::size_t at = offsetof(spool::FileHeader, graphs) + slot * sizeof(spool::GraphCounter);
    set<std::uint64_t>(at + offsetof(spool::GraphCounter, exec), exec);
    set<std::uint64_t>(at + offsetof(spool::GraphCounter, graph), graph);
    set<std::uint64_t>(at + offsetof(spool::GraphCounter, launches), launches);
    set<std::uint64_t>(at + offsetof(spool::GraphCounter, last_launch), last_launch);
  }

  template <class T>
  void set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::uint64_t end() const { return bytes_.size(); }

  void write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace profiling
