// Frames on a byte stream: "XSC1", a little-endian length, a serialized Frame; or "XSCZ", the
// length, and one zstd frame that says how long the serialized Frame is. The reading side trusts
// nothing; a length beyond the cap is refused before any of the frame is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/protocol/expertscope.pb.h"
#include "engine/model/error.h"

namespace app {

namespace wire = ::expertscope::wire;

inline constexpr std::string_view kFrameMagic = "XSC1";
inline constexpr std::string_view kCompressedMagic = "XSCZ";
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::uint32_t kMaxFrameBytes = 256U << 20;
/// Memory allowed per byte of a frame: packed numbers take up to eight.
inline constexpr std::size_t kMemoryPerByte = 8;
/// And for the whole frame. A run of 20 million records comes in frames of about 10 MiB of memory;
/// the snapshot of a graph of half a million nodes is the largest that fits.
inline constexpr std::size_t kMaxFrameMemory = std::size_t{512} << 20;

/// For a link that is slower than a pipe. Small frames are never compressed.
enum class FrameCompression { Off, On };
inline constexpr std::size_t kLeastCompressedBytes = 4096;

/// Header and body, ready to write.
engine::Result<std::string> encode_frame(const wire::Frame& frame,
                                         FrameCompression compression = FrameCompression::Off);

/// Bytes in, frames out; refuses a frame that would take more than its share of memory. After an
/// error the stream can no longer be trusted: stop reading it.
class FrameDecoder {
 public:
  /// Limit on the frames to come; never above kMaxFrameBytes, the initial value.
  void set_limit(std::size_t bytes) { limit_ = bytes; }
  /// From a peer that was told to compress; any other may not.
  void accept_compressed() { accepts_compressed_ = true; }
  void append(std::string_view bytes);
  /// Bytes of frames that have not been given out yet.
  std::size_t pending_bytes() const { return buffer_.size() - consumed_; }
  /// The next whole frame; nullopt when more bytes are needed.
  engine::Result<std::optional<wire::Frame>> next();
  /// The error to report when the stream ends here; ok between frames.
  engine::Status at_end() const;

 private:
  /// Size of the frame whose header has arrived, including the header; 0 = no frame is pending.
  std::size_t pending_frame_bytes() const;
  void drop_large();
  engine::Result<wire::Frame> parse(std::string_view body) const;

  std::size_t limit_ = kMaxFrameBytes;
  bool accepts_compressed_ = false;
  std::string buffer_;
  std::size_t consumed_ = 0;  // bytes of buffer_ already given out, dropped on the next append
};

/// Reads one frame from a blocking descriptor. nullopt = the stream ended between frames.
engine::Result<std::optional<wire::Frame>> read_frame(int descriptor, FrameDecoder& decoder);
/// Writes all bytes to a blocking descriptor.
engine::Status write_all(int descriptor, std::string_view bytes);

}  // namespace app
