#include "app/protocol/framing.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "app/protocol/terminal_text.h"

namespace app {
namespace {

// Protobuf would print to stderr what is returned as an error here.
[[maybe_unused]] const auto former_log = google::protobuf::SetLogHandler(nullptr);

constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

engine::Error broken(std::string message) {
  return {engine::ErrorCode::Protocol, std::move(message)};
}

std::uint32_t read_length(const char* bytes) {
  std::uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

constexpr int kMaxDepth = 100;  // the same as protobuf's own limit
constexpr std::size_t kStringBytes = 48;
constexpr std::size_t kGroupBytes = 64;

/// Bytes that a packed field will take in memory. Numbers of variable length are counted, each by
/// its last byte; the list of them may get twice as long as needed while it grows.
std::size_t memory_of_packed(const google::protobuf::FieldDescriptor& field,
                             std::string_view packed) {
  using Wire = google::protobuf::FieldDescriptor;
  switch (field.type()) {
    case Wire::TYPE_FLOAT:
    case Wire::TYPE_DOUBLE:
    case Wire::TYPE_FIXED32:
    case Wire::TYPE_FIXED64:
    case Wire::TYPE_SFIXED32:
    case Wire::TYPE_SFIXED64:
      return packed.size();
    default:
      break;
  }
  const auto numbers = static_cast<std::size_t>(std::ranges::count_if(
      packed, [](char byte) { return (static_cast<unsigned char>(byte) & 0x80U) == 0; }));
  switch (field.cpp_type()) {
    case Wire::CPPTYPE_BOOL:
      return 2 * numbers;
    case Wire::CPPTYPE_INT64:
    case Wire::CPPTYPE_UINT64:
      return 2 * numbers * sizeof(std::int64_t);
    default:
      return 2 * numbers * sizeof(std::int32_t);
  }
}

/// Bytes that a message will take in memory, estimated from its wire form. Stops at bytes that are
/// not a message; the parser will refuse them.
std::size_t memory_of(const google::protobuf::Descriptor& type,
                      google::protobuf::io::CodedInputStream& in, int depth) {
  using Wire = google::protobuf::FieldDescriptor;
  std::size_t bytes = 32 + 16 * static_cast<std::size_t>(type.field_count());
  while (const std::uint32_t tag = in.ReadTag()) {
    const Wire* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
    std::uint64_t value = 0;
    std::uint32_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!in.ReadVarint64(&value)) return bytes;
        bytes += 16;
        continue;
      case 1:
      case 5:
        if (!in.Skip((tag & 7) == 1 ? 8 : 4)) return bytes;
        bytes += 16;
        continue;
      case 2:
        break;
      case 3:
      case 4:
        // A group's delimiters: none of our fields is a group, but the parser keeps unknown ones.
        // The contents are counted as if they were fields of the message itself.
        bytes += kGroupBytes;
        continue;
      default:
        return bytes;
    }
    if (!in.ReadVarint32(&length) || length > kMaxFrameBytes) return bytes;
    if (field != nullptr && field->type() == Wire::TYPE_MESSAGE && depth < kMaxDepth) {
      const auto outer = in.PushLimit(static_cast<int>(length));
      bytes += memory_of(*field->message_type(), in, depth + 1);
      if (in.BytesUntilLimit() > 0) in.Skip(in.BytesUntilLimit());
      in.PopLimit(outer);
    } else {
      const void* data = nullptr;
      int left = 0;
      if (length > 0 && !in.GetDirectBufferPointer(&data, &left)) return bytes;
      const std::string_view content(static_cast<const char*>(data),
                                     std::min<std::size_t>(length, static_cast<std::size_t>(left)));
      const bool packed = field != nullptr && field->is_packable();
      bytes += kStringBytes + (packed ? memory_of_packed(*field, content) : content.size());
      if (!in.Skip(static_cast<int>(length))) return bytes;
    }
  }
  return bytes;
}

std::size_t memory_of_frame(std::string_view body) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(body.data()),
                                            static_cast<int>(body.size()));
  return memory_of(*wire::Frame::descriptor(), in, 0);
}

std::string header_of(std::string_view magic, std::size_t length) {
  std::string bytes(magic);
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(length >> shift & 0xFF);
  }
  return bytes;
}

/// The whole frame, or empty where compression saves nothing.
std::string compressed(const wire::Frame& frame, std::size_t length) {
  std::string body;
  if (!frame.SerializeToString(&body)) return {};
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  constexpr int kFastest = 1;
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kFastest);
  if (ZSTD_isError(size) != 0 || size >= length) return {};
  packed.resize(size);
  return header_of(kCompressedMagic, size) + packed;
}

/// Never longer than `limit`, whatever the zstd frame says.
engine::Result<std::string> decompressed(std::string_view packed, std::size_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > limit) {
    return broken(fmt::format(
        "a compressed frame of {} bytes does not say how long it is, or is longer than {}",
        packed.size(), limit));
  }
  std::string body(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(body.data(), body.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) == 0 && got == body.size()) return body;
  return broken(fmt::format("the {} bytes of a compressed frame cannot be read", packed.size()));
}

}  // namespace

engine::Result<std::string> encode_frame(const wire::Frame& frame, FrameCompression compression) {
  const std::size_t length = frame.ByteSizeLong();
  if (length > kMaxFrameBytes) {
    return broken(
        fmt::format("a frame of {} bytes is too long; the limit is {}", length, kMaxFrameBytes));
  }
  if (compression == FrameCompression::On && length >= kLeastCompressedBytes) {
    if (std::string bytes = compressed(frame, length); !bytes.empty()) return bytes;
  }
  std::string bytes = header_of(kFrameMagic, length);
  bytes.reserve(kFrameHeaderBytes + length);
  if (!frame.AppendToString(&bytes)) return broken("a frame could not be serialized");
  return bytes;
}

void FrameDecoder::append(std::string_view bytes) {
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > buffer_.size() / 2) {
    // Only when most of it is used up: moving the rest on every append would be quadratic.
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  const std::size_t needed = buffer_.size() + bytes.size();
  const std::size_t whole = consumed_ + pending_frame_bytes();
  if (needed > buffer_.capacity() && whole > needed) {
    // A string doubles as it grows: no further than the frame is long.
    buffer_.reserve(std::min(std::max(2 * buffer_.capacity(), needed), whole));
  }
  buffer_.append(bytes);
}

std::size_t FrameDecoder::pending_frame_bytes() const {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < kFrameHeaderBytes) return 0;
  return kFrameHeaderBytes + read_length(rest.data() + kFrameMagic.size());
}

/// The memory of a large frame is neither kept beside what was read from it nor for the small ones
/// that follow.
void FrameDecoder::drop_large() {
  if (consumed_ < buffer_.size() || buffer_.capacity() <= kKeptBytes) return;
  std::string().swap(buffer_);
  consumed_ = 0;
}

engine::Result<std::optional<wire::Frame>> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  const std::string_view magic = rest.substr(0, std::min(rest.size(), kFrameMagic.size()));
  const bool packed = magic == kCompressedMagic;
  const bool packable = accepts_compressed_ && kCompressedMagic.starts_with(magic);
  if (!kFrameMagic.starts_with(magic) && !packable) {
    return broken(fmt::format("a frame must start with \"{}\" but this one starts with \"{}\"",
                              kFrameMagic, terminal_text(magic)));
  }
  if (rest.size() < kFrameHeaderBytes) return std::optional<wire::Frame>();
  const std::uint32_t length = read_length(rest.data() + kFrameMagic.size());
  if (length > limit_) {
    return broken(fmt::format("a frame of {} bytes is too long; the limit {}is {}", length,
                              limit_ < kMaxFrameBytes ? "while nothing was ordered " : "", limit_));
  }
  if (rest.size() - kFrameHeaderBytes < length) return std::optional<wire::Frame>();
  const std::string_view body = rest.substr(kFrameHeaderBytes, length);
  std::string unpacked;
  if (packed) {
    ENGINE_ASSIGN(unpacked, decompressed(body, limit_));
  }
  ENGINE_ASSIGN(wire::Frame frame, parse(packed ? std::string_view(unpacked) : body));
  consumed_ += kFrameHeaderBytes + length;
  drop_large();
  return std::optional<wire::Frame>(std::move(frame));
}

engine::Result<wire::Frame> FrameDecoder::parse(std::string_view body) const {
  // Two bytes on the wire can become an element of a hundred bytes in memory.
  const std::size_t memory = memory_of_frame(body);
  const std::size_t most = std::min(kMemoryPerByte * limit_, kMaxFrameMemory);
  if (memory > most) {
    return broken(
        fmt::format("a frame of {} bytes would take about {} MiB of memory; the limit is {}",
                    body.size(), memory >> 20, most >> 20));
  }
  wire::Frame frame;
  if (!frame.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return broken(fmt::format(
        "the {} bytes of a frame are not a message, or a text in them is not UTF-8", body.size()));
  }
  if (frame.body_case() == wire::Frame::BODY_NOT_SET) {
    return broken(
        fmt::format("a frame of {} bytes has no body known to this version", body.size()));
  }
  return frame;
}

engine::Status FrameDecoder::at_end() const {
  const std::size_t left = buffer_.size() - consumed_;
  if (left == 0) return {};
  if (left < kFrameHeaderBytes) {
    return broken(fmt::format("the stream ended {} bytes into a frame's header of {}", left,
                              kFrameHeaderBytes));
  }
  return broken(fmt::format("the stream ended after {} of a frame's {} bytes",
                            left - kFrameHeaderBytes,
                            read_length(buffer_.data() + consumed_ + kFrameMagic.size())));
}

engine::Result<std::optional<wire::Frame>> read_frame(int descriptor, FrameDecoder& decoder) {
  std::array<char, 65536> chunk;
  while (true) {
    engine::Result<std::optional<wire::Frame>> frame = decoder.next();
    if (!frame.ok() || frame.value().has_value()) return frame;
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count > 0) {
      decoder.append({chunk.data(), static_cast<std::size_t>(count)});
    } else if (count == 0) {
      ENGINE_TRY(decoder.at_end());
      return std::optional<wire::Frame>();
    } else if (errno != EINTR) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("reading a frame failed: {}", std::strerror(errno))};
    }
  }
}

engine::Status write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("writing a frame failed: {}", std::strerror(errno))};
    }
  }
  return {};
}

}  // namespace app
